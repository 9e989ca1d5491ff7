#!/usr/bin/env bash
# Tenants, people, keys, models and audit logs of an installation: asks its function `administer`, as IAM allows who calls,
# with a proof of who that is for the audit log.
#   scripts/administer.sh prod '{"add_tenant": {"name": "hospital"}}'
# Actions: lambdas/schemas/administration.py. Needs `make setup`, AWS_REGION and credentials as usual.
set -euo pipefail
[ $# -eq 2 ] || { echo "usage: $0 ENVIRONMENT ACTION_AS_JSON" >&2; exit 2; }
cd "$(dirname "$0")/.."
exec "${PYTHON:-.venv/bin/python}" -m tools.account.administering "$1" "$2"
