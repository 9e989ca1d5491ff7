#!/usr/bin/env bash
# Restores an installation in its recovery_region, after the loss of its own region: a new environment there goes on with
# the replicas of its buckets and with the last backup of its database. Give the context of the new environment:
#   scripts/restore.sh prod prodb -c preset=prod -c region=eu-west-1 -c availability_zones=eu-west-1a,eu-west-1b,eu-west-1c
# The order matters: nothing but the database may run before the records say where the objects are. It can be run again
# after any failure. Exit 0: all objects are there; 3: it runs, and the listed objects are missing or differ.
set -Eeuo pipefail
cd "$(dirname "$0")/.."
[ $# -ge 2 ] && [[ $1 != -* && $2 != -* ]] || { echo "usage: $0 LOST_ENVIRONMENT NEW_ENVIRONMENT -c region=… [-c name=value …]" >&2; exit 2; }
lost=$1 new=$2
shift 2
region=$(printf '%s\n' "$@" | sed -n 's/^region=//p' | tail -1)
[ -n "$region" ] || { echo "give the region of the replicas: -c region=eu-west-1" >&2; exit 2; }
export PATH="$PWD/.venv/bin:$PWD/.tools/node_modules/node/bin:$PATH" JSII_NODE="$PWD/.tools/node_modules/node/bin/node"

aws() { "${AWS:-aws}" --region "$region" --output text "$@"; }
deploy() { "${CDK:-.tools/node_modules/.bin/cdk}" deploy --require-approval never "${context[@]}" "$@"; }
kept() { aws cloudformation describe-stacks --stack-name "tessera-$lost-recovery" --query "Stacks[0].Outputs[?OutputKey=='$1'].OutputValue"; }

echo "1. what was kept of $lost in $region"
buckets="$(kept SlidesBucket),$(kept ResultsBucket),$(kept ModelsBucket)"
key=$(kept KeyArn)
read -r backup latest < <(aws rds describe-db-instance-automated-backups \
    --query "DBInstanceAutomatedBackups[?DBInstanceIdentifier=='tessera-$lost-database'] | [0].[DBInstanceAutomatedBackupsArn,RestoreWindow.LatestTime]") || true  # a last line without an end
[[ $backup == arn:* ]] || { echo "there is no replicated backup of tessera-$lost-database in $region" >&2; exit 1; }
context=(-c "environment=$new" "$@" -c "adopted_buckets=$buckets" -c "adopted_key_arn=$key" -c "restored_from=$backup")
echo "   buckets $buckets"
echo "   database as of $latest"
echo "   give these settings with every later deployment of $new: ${context[*]}"

echo "2. network and database"
deploy "tessera-$new-network" "tessera-$new-data"

echo "3. records: where the objects are, which of them are there, and live jobs back to the start"
status=0
"${PYTHON:-.venv/bin/python}" -m tools.account.recovering "${context[@]}" || status=$?
[ $status -eq 0 ] || [ $status -eq 3 ] || exit $status

echo "4. everything else"
deploy --all
[ $status -eq 0 ] || echo "objects are missing or differ: they are listed above, under 3" >&2
exit $status
