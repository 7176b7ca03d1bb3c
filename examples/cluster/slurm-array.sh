#!/usr/bin/env bash
# Advantages of a data set, whitened over all of it, by a Slurm array of eight tasks. `bash slurm-array.sh` submits everything: the array,
# the merge, and both again for the second pass.
#SBATCH --job-name=surprisal
#SBATCH --cpus-per-task=4
set -euo pipefail

files="${FILES:-rollouts/*.jsonl}"
out="${OUT:-advantages.jsonl}"
parts="${PARTS:-8}"

part() {
  # SLURM_ARRAY_TASK_ID says which part this is. Quoted: surprisal itself finds the files.
  npx surprisal advantages "$files" --estimator gae --gamma 1 --lambda 0.95 --whitening '{}' --batch all \
    --out "$out" --shard "$parts"
}

merge() {
  npx surprisal merge "$out.shards"
}

case "${1:-submit}" in
  part) part ;;
  merge) merge ;;
  submit)
    after=""
    for pass in 1 2; do
      array=$(sbatch --parsable ${after:+--dependency=afterok:$after} --array="0-$((parts - 1))" "$0" part)
      after=$(sbatch --parsable --dependency="afterok:$array" "$0" merge)
      echo "pass $pass: array $array, merge $after"
    done
    ;;
  *) echo "usage: $0 [submit|part|merge]" >&2; exit 2 ;;
esac
