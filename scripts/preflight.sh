#!/usr/bin/env bash
# Does the account have what a deployment needs? Run it before the first one, with the context of `make deploy`:
#   scripts/preflight.sh -c environment=dev -c region=eu-central-1
# It reads quotas, bootstrap, zones, versions, roles, SES and, if docker builds the image, docker; it changes nothing. Each failed line says what to
# request or to run. Exit 0: nothing is missing; 1: something is; 2: wrong settings or no credentials.
set -euo pipefail
cd "$(dirname "$0")/.."
export JSII_NODE="$PWD/.tools/node_modules/node/bin/node"
exec .venv/bin/python -m tools.account.preflight "$@"
