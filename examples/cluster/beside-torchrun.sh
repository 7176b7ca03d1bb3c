#!/usr/bin/env bash
# Rewards beside a trainer: on each machine one server judges what the ranks of torchrun post to it, as OpenRLHF and LightRFT do.
set -euo pipefail

port="${PORT:-8800}"
npx surprisal reward --serve --scorer route --port "$port" --at-once 4 --queue 256 &
server=$!
trap 'kill -TERM "$server" 2>/dev/null || true; wait "$server" || true' EXIT
until curl --fail --silent --output /dev/null "http://127.0.0.1:$port/health"; do
  kill -0 "$server" # ended: so does this script
  sleep 1
done

REMOTE_REWARD_URL="http://127.0.0.1:$port/" torchrun "$@"
