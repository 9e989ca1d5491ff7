#!/usr/bin/env bash
# Does an installation work? A deployer runs this after each deployment, from a checkout with `make setup`:
#   TESSERA_API_KEY=tsk_… scripts/smoke.sh https://wsi.example.org [SLIDE]
# It opens what is open, is refused where it must be, sends one slide through and looks at the results. The key is an
# analyst's. Exit 0: all of it held.
set -uo pipefail
cd "$(dirname "$0")/.."
[ $# -ge 1 ] && [ -n "${TESSERA_API_KEY:-}" ] || { echo "usage: TESSERA_API_KEY=tsk_… $0 URL [SLIDE]" >&2; exit 2; }
api="${1%/}/api/v1/wsi"
slide="${2:-}"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

check() { # NAME COMMAND…
    local name=$1
    shift
    if "$@"; then echo "ok      $name"; else echo "FAILED  $name"; failed=1; return 1; fi
}
status() { : >"$folder/body"; curl --silent --show-error --max-time 30 --output "$folder/body" --dump-header "$folder/headers" --write-out '%{http_code}' "$@"; }
is() { local expected=$1; shift; local found; found=$(status "$@"); [ "$found" = "$expected" ] || { echo "        answered $found: $(head -c 300 "$folder/body")"; return 1; }; }
is_problem() { is "$@" && grep -qi '^content-type: application/problem+json' "$folder/headers" && grep -q '"detail"' "$folder/body"; }
key=(--header "Authorization: Bearer $TESSERA_API_KEY")

check "health is open" is 200 "$api/health" || { echo "        nothing more is tried: is $1 the address?"; exit 1; }
check "the API describes itself" is 200 "$api/openapi.json"
check "without a key the door is shut, with a sentence" is_problem 401 "$api/jobs"
check "a wrong key opens nothing" is_problem 401 --header "Authorization: Bearer tsk_000000_0000" "$api/jobs"
check "the key opens the list of jobs" is 200 "${key[@]}" "$api/jobs"
check "an address that does not exist is a problem" is_problem 404 "${key[@]}" "$api/nothing"
check "a body that is not valid is told in words" is_problem 422 "${key[@]}" --json '{"slide_id": "x"}' "$api/jobs"
check "a body above 8 KB passes the firewall" is_problem 422 "${key[@]}" --json "{\"label\": \"$(printf 'x%.0s' {1..9000})\"}" "$api/jobs"
check "the model is registered" is 200 "${key[@]}" "$api/models/stain-density"

if [ -z "$slide" ]; then
    slide=$(.venv/bin/python -c 'from pathlib import Path; from local.sample_slide import fetch_sample_slide; print(fetch_sample_slide(Path(".tessera/cache")))')
fi
echo "        sending $slide (a GPU node that must start takes some minutes)"
check "a slide is uploaded, analysed and its results come back" \
    timeout 1800 .venv/bin/tessera submit "$slide" --api "$api" --model stain-density --watch --out "$folder/results" || exit 1
for file in summary.json tiles.csv tiles.geojson.gz heatmap.ome.tif tissue.png tile_quality.csv; do
    check "$file is there" test -s "$folder/results/$file"
done
check "all tiles are accounted for" .venv/bin/python - "$folder/results" <<'PYTHON'
import csv, json, pathlib, sys
folder = pathlib.Path(sys.argv[1])
counts = json.loads((folder / "summary.json").read_text())["tiles"]
rows = len(list(csv.DictReader((folder / "tiles.csv").open())))
sys.exit(0 if counts["planned"] == counts["inferred"] + counts["unreadable"] and rows == counts["inferred"] > 0 else 1)
PYTHON
exit $failed
