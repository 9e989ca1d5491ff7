#!/usr/bin/env bash
# Destroys an installation, in the order that its stacks need, and removes what AWS creates again behind it. Give the
# context of `make deploy` without the environment:
#   scripts/destroy.sh dev -c region=eu-central-1
#   scripts/destroy.sh dev --leftovers -c region=eu-central-1     # only the log groups that came back
# It can be run again after any failure, and after a deployment that failed half-way.
set -Eeuo pipefail
cd "$(dirname "$0")/.."
[ $# -ge 1 ] && [[ $1 != -* ]] || { echo "usage: $0 ENVIRONMENT [--leftovers] [-c name=value …]" >&2; exit 2; }
environment=$1
shift
only_leftovers=
[ "${1:-}" != --leftovers ] || { only_leftovers=yes; shift; }
context=(-c "environment=$environment" "$@")
export PATH="$PWD/.venv/bin:$PWD/.tools/node_modules/node/bin:$PATH" JSII_NODE="$PWD/.tools/node_modules/node/bin/node"

clean() { "${PYTHON:-.venv/bin/python}" -m tools.account.cleaning "$1" "${context[@]}"; }
destroy() { "${CDK:-.tools/node_modules/.bin/cdk}" destroy --force "${@/#/tessera-$environment-}" "${context[@]}"; }

if [ -z "$only_leftovers" ]; then
    echo "This deletes the stacks tessera-$environment-* and, unless keeps_data is set, all slides and results."
    read -r -p "Type the name of the environment to go on: " answer
    [ "$answer" = "$environment" ] || { echo "nothing was deleted" >&2; exit 2; }
    trap 'echo "stopped: run the same command again; network interfaces of functions can hold a stack for an hour" >&2' ERR
    clean page
    destroy observability web workload  # pods before the controllers that clear their finalizers
    destroy cluster api realtime auth
    clean data
    destroy data network
    if printf '%s\n' "${context[@]}" | cat - cdk.json | grep -q recovery_region; then
        clean recovery  # after the buckets that are copied into it
        destroy recovery
    fi
    trap - ERR
fi
clean leftovers
