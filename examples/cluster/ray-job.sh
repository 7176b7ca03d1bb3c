#!/usr/bin/env bash
# The same on a Ray cluster: each part is a job, whose entry point is any shell command.
set -euo pipefail

parts="${PARTS:-8}"
for ((part = 0; part < parts; part++)); do
  ray job submit --no-wait --submission-id "surprisal-$part" --entrypoint-num-cpus 4 -- \
    npx surprisal advantages 'rollouts/*.jsonl' --estimator grpo --out advantages.jsonl --shard "$part/$parts"
done
# When all have succeeded: npx surprisal merge advantages.jsonl.shards
