#!/usr/bin/env bash
# Tenants, people, keys and models of an installation: asks its function `administer`, as IAM allows who calls.
#   scripts/administer.sh prod '{"add_tenant": {"name": "hospital"}}'
# Actions: lambdas/schemas/administration.py. Needs the AWS command line; AWS_REGION and credentials as usual.
set -euo pipefail
[ $# -eq 2 ] || { echo "usage: $0 ENVIRONMENT ACTION_AS_JSON" >&2; exit 2; }
stack="tessera-$1-data"
function_name=$(aws cloudformation describe-stacks --stack-name "$stack" \
    --query "Stacks[0].Outputs[?contains(OutputKey, 'AdministerFunction')].OutputValue | [0]" --output text)
answer=$(mktemp)
trap 'rm -f "$answer"' EXIT
aws lambda invoke --function-name "$function_name" --cli-binary-format raw-in-base64-out --payload "$2" "$answer" >/dev/null
cat "$answer"
echo
! grep -Eq '^\{"error(Message)?"' "$answer"  # the second is Lambda's own, of a function that threw
