"""Broken links in README, CONTRIBUTING, CHANGELOG and docs/: `python tools/links.py`, without any network.

Links to other hosts are not opened. A relative link must lead to a file in this repository, and its anchor to a
heading. Documents below docs/ may link to docs/ alone, since nothing else is part of the built site. A path that a
document names as code must exist too.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parents[1]
PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "THIRD_PARTY_NOTICES.md",
    "web/README.md",
    "benchmarks/README.md",
)

_CODE = re.compile(r"^( *)(```|~~~).*?^\1\2|(?<!`)(`+)(?!`).+?(?<!`)\3(?!`)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(
    r"\]\(\s*<?([^)\s>]*)>?(?:\s+\"[^\"]*\")?\s*\)|^\[[^\]]+\]:\s*(\S+)|(?:href|src)=\"([^\"]*)\"", re.MULTILINE
)
_FENCE = re.compile(r"^( *)(```|~~~).*?^\1\2", re.MULTILINE | re.DOTALL)
#: A path such as `wsi/states.py` or `wsi/jobs/jobs.py: submit_job`; not one of files made at run time.
_PATH = re.compile(
    r"`((?:wsi|adapters|lambdas|inference|gpu_worker|tessera|local|cdk|web/src|scripts|tests|tools)"
    r"/[\w./-]*\w)(?=[`: ])"
)
_HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)


def list_pages(root: Path) -> list[Path]:
    """Return the documents whose links are checked."""
    return [root / name for name in PAGES if (root / name).exists()] + sorted((root / "docs").rglob("*.md"))


def list_broken_links(page: Path, root: Path) -> Iterator[str]:
    """Yield a message for each broken link of `page`."""
    for target in read_links(page.read_text()):
        if _ELSEWHERE.match(target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / unquote(path)).resolve() if path else page
        said = f"{page.relative_to(root)}: {target}"
        if not file.exists() or not file.is_relative_to(root):
            yield f"{said} does not exist."
        elif (root / "docs") in page.parents and not file.is_relative_to(root / "docs"):
            yield f"{said} is not part of the site: name it as code instead."
        elif anchor and file.suffix == ".md" and anchor not in read_anchors(file.read_text()):
            yield f"{said} names no heading, or one of several."


def list_missing_paths(page: Path, root: Path) -> Iterator[str]:
    """Yield a message for each path of this repository that `page` names as code and that does not exist."""
    for path in _PATH.findall(_without_fences(page.read_text())):
        if not any((root / name).exists() for name in (path, f"{path}.py")):
            yield f"{page.relative_to(root)}: `{path}` does not exist."


def read_links(text: str) -> list[str]:
    """Return the targets of all links and images outside code, in order."""
    return ["".join(found.groups(default="")) for found in _LINK.finditer(_CODE.sub("", text))]


def read_anchors(text: str) -> set[str]:
    """Return the anchors that GitHub and the site agree on: those of headings that occur once."""
    headings = [_plain(found[1]) for found in _HEADING.finditer(_without_fences(text))]
    seen = Counter(slug for slugs in map(_slugs, headings) for slug in slugs)
    return {slug for slugs in map(_slugs, headings) for slug in slugs if len(slugs) == 1 and seen[slug] == 1}


def _slugs(heading: str) -> set[str]:
    kept = re.sub(r"[^\w\s-]", "", heading.lower()).strip()
    return {re.sub(r"\s", "-", kept), re.sub(r"[-\s]+", "-", kept)}


def _plain(heading: str) -> str:
    """Return a heading without its links and code marks."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")


def _without_fences(text: str) -> str:
    return _FENCE.sub("", text)


def main() -> int:
    broken = [
        message
        for page in list_pages(ROOT)
        for find in (list_broken_links, list_missing_paths)
        for message in find(page, ROOT)
    ]
    for message in broken:
        sys.stderr.write(f"{message}\n")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
