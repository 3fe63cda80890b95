#!/bin/sh
# Shows that a backup brings a team back. Run it in the team's folder:
#
#   sh deploy/restore-drill.sh FOLDER
#
# It backs the team up into FOLDER, which must not exist yet, restores that into a database of its
# own there, and starts a server on it at a free port. The team itself is only read. Accounts of
# Discord and Slack are not connected twice: their tokens are taken out of the drill's environment.
# DURE names another command than `npx dure`.
set -eu

folder=${1:?"the drill needs a folder, such as /tmp/drill"}
dure=${DURE:-npx dure}
mkdir "$folder"
folder=$(cd "$folder" && pwd)

$dure db backup "$folder/team.dure.gz" --json >"$folder/saved.json"

unset DATABASE_URL
for name in $(env | sed -n 's/^\(DISCORD_TOKEN_[A-Z0-9_]*\|SLACK_[A-Z]*_TOKEN_[A-Z0-9_]*\)=.*/\1/p'); do
  unset "$name"
done
export DURE_HOME="$folder/home" PORT=0

$dure db restore "$folder/team.dure.gz" --json >"$folder/restored.json"
cmp "$folder/saved.json" "$folder/restored.json"

$dure start >"$folder/start.log" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null || true' EXIT

seconds=0
until [ -f "$DURE_HOME/server.json" ]; do
  kill -0 "$server" 2>/dev/null || { cat "$folder/start.log" >&2; exit 1; }
  [ "$seconds" -lt 90 ] || { echo "the server did not start within 90 s" >&2; exit 1; }
  sleep 1
  seconds=$((seconds + 1))
done

kill -TERM "$server"
wait "$server"
trap - EXIT
echo "restored and started: $(cat "$folder/restored.json")"
