#!/usr/bin/env bash
# Proves the CUDA backend on this machine: run.sh RESULTS_DIR [--only PARTS] [--minutes N] [--backend NAME] [--device N]
#
# Needs a driver, bash, coreutils, and xz or python3. Uses python3 with torch (and triton) and compute-sanitizer where they are there.
# Every part writes its own log; one that fails does not stop the others. Exit status: 0 nothing failed, 1 something did.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
app=$here/app
node=$here/node

parts_there=(torch suite conformance nccl node bench memcheck racecheck)

usage() {
  cat <<TEXT
usage: run.sh RESULTS_DIR [--only PARTS] [--minutes N] [--backend cuda|emulated] [--device N] [--tiny]

  RESULTS_DIR   where results.json, summary.md, *.jsonl of the benches and a log for each part go; made if it is not there
  --only PARTS  these parts alone, such as torch,bench; of ${parts_there[*]}
  --minutes N   about how long it may take in all (default 30)
  --backend B   cuda (default), or emulated: the same kernels on the host, to try the bundle out
  --device N    number of the device (default 0)
  --tiny        small shapes for the benches: what they give is no result

RESULTS_DIR.tar holds all of it, and is written anew after every part: what was cut off has the parts that ended.
Bring it back to the repository and file it: npm run gpu:import -- RESULTS_DIR.tar
TEXT
}

results='' only='' minutes=30 backend=cuda device=0 tiny=()
while (($# > 0)); do
  case $1 in
    --only) only=${2:?--only needs names of parts}; shift 2 ;;
    --minutes) minutes=${2:?--minutes needs a number}; shift 2 ;;
    --backend) backend=${2:?--backend needs a name}; shift 2 ;;
    --device) device=${2:?--device needs a number}; shift 2 ;;
    --tiny) tiny=(--tiny); shift ;;
    -h | --help) usage; exit 0 ;;
    -*) usage >&2; exit 2 ;;
    *) results=$1; shift ;;
  esac
done
[[ -n $results ]] || { usage >&2; exit 2; }
[[ $minutes =~ ^[0-9]+$ && $device =~ ^[0-9]+$ ]] || { usage >&2; exit 2; }
case $backend in cuda | emulated) ;; *) usage >&2; exit 2 ;; esac
for name in ${only//,/ }; do
  [[ " ${parts_there[*]} " == *" $name "* ]] || { echo "no part is called $name: there are ${parts_there[*]}" >&2; exit 2; }
done
mkdir -p "$results" || exit 2
results=$(cd "$results" && pwd)
[[ $backend == emulated ]] && tiny=(--tiny)

deadline=$((SECONDS + minutes * 60))
parts=$results/parts.tsv
: >"$parts"
failed=0
library=$app/build-$backend/libsurprisal_$backend.so
export SURPRISAL_BACKEND=$backend SURPRISAL_DEVICE=$device

last=racecheck # of the parts that run
for name in ${only:+"${parts_there[@]}"}; do
  [[ ",$only," == *",$name,"* ]] && last=$name
done

# left NAME SHARE: seconds for a part that may take SHARE percent of what is left, the last nearly all; 30 at least
left() {
  local share=$2
  [[ $1 == "$last" ]] && share=95
  local seconds=$(((deadline - SECONDS) * share / 100))
  ((seconds > 30)) && echo "$seconds" || echo 30
}

# whole_minutes SECONDS: what a bench is told that it has, so that it ends by itself
whole_minutes() {
  local number=$((($1 - 20) / 60))
  echo $((number > 0 ? number : 1))
}

# All results as one file, whole or not there.
pack() {
  tar -cf "$results.tar.partial" -C "$(dirname "$results")" "$(basename "$results")" && mv "$results.tar.partial" "$results.tar"
}

asked() { # NAME: whether the part is to run
  [[ $1 == card || -z $only || ",$only," == *",$1,"* ]]
}

# part NAME SECONDS COMMAND...: exit status 3 means skipped, with the reason in the last line of its log
part() {
  local name=$1 limit=$2 start=$SECONDS status state
  shift 2
  asked "$name" || { skipped "$name" 'not asked for (--only)'; return; }
  echo "== $name"
  timeout "$limit" "$@" >"$results/$name.log" 2>&1
  status=$?
  # A sanitizer that ends without its summary was refused by the machine: it has looked at nothing.
  if [[ $name == *check && $status != 0 && $status != 124 ]] && ! grep -q 'ERROR SUMMARY' "$results/$name.log"; then
    echo 'skipped: compute-sanitizer does not run here' >>"$results/$name.log"
    status=3
  fi
  case $status in
    0) state=passed ;;
    3) state=skipped ;;
    124) state=timeout; failed=1 ;;
    *) state=failed; failed=1 ;;
  esac
  printf '%s\t%s\t%s\t%s\n' "$name" "$state" "$status" "$((SECONDS - start))" >>"$parts"
  tail -n 3 "$results/$name.log" | sed 's/^/   /'
  echo "== $name: $state ($((SECONDS - start)) s)"
  pack
}

skipped() { # NAME REASON
  echo "skipped: $2" >"$results/$1.log"
  printf '%s\tskipped\t3\t0\n' "$1" >>"$parts"
  echo "== $1: skipped, $2"
}

python=$(command -v python3 || true)
sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer 2>/dev/null | tail -n 1)

if [[ ! -x $node ]]; then
  if command -v xz >/dev/null; then
    xz -dc "$here/node.xz" >"$node.partial"
  else
    python3 -c 'import lzma, shutil, sys; shutil.copyfileobj(lzma.open(sys.argv[1]), sys.stdout.buffer)' "$here/node.xz" >"$node.partial"
  fi && chmod +x "$node.partial" && mv "$node.partial" "$node" || { echo "cannot unpack $here/node.xz: it takes xz or python3" >&2; exit 2; }
fi
# Once; into a folder of another name, so that one that was cut off counts for nothing.
if [[ ! -d $app ]]; then
  echo '== unpacking'
  rm -rf "$here/app.partial" && mkdir "$here/app.partial" &&
    "$node" "$here/unpack.cjs" "$here/app.tar.br" | tar -xf - -C "$here/app.partial" &&
    mv "$here/app.partial/app" "$app" && rmdir "$here/app.partial" || { echo "cannot unpack $here/app.tar.br" >&2; exit 2; }
fi

cp "$here/bundle.json" "$results/bundle.json"
part card 60 "$node" "$app/bench/gpu/card.js" --backend "$backend" --device "$device" --bundle "$here/bundle.json" --out "$results/card.json"

if [[ -n $python ]]; then
  repeats=100
  [[ $backend == emulated ]] && repeats=3
  part torch "$(left torch 30)" "$python" "$app/bench/gpu/python/compare.py" --library "$library" \
    --out "$results/torch.json" --repeats "$repeats" --device "$device"
else
  skipped torch 'no python3 here'
fi

export SURPRISAL_TEST_COUNTS=$results/suite-counts.json
cd "$app" || exit 2
# On the host the suite takes most of the time, on a device the benches do.
share=45
[[ $backend == emulated ]] && share=75
part suite "$(left suite "$share")" "$node" node_modules/jest/bin/jest.js --ci --colors=false --testNamePattern "^backend $backend" --json --outputFile "$results/suite.json"
part conformance "$(left conformance 40)" "$node" test/conformance/main.js --backend "$backend"

# The library that torch brings, else the system's. NCCL reads and writes memory of a GPU, which the emulation has none of.
nccl=$([[ -n $python ]] && "$python" -c 'import os, nvidia.nccl as n; print(os.path.join(list(n.__path__)[0], "lib", "libnccl.so.2"))' 2>/dev/null)
if [[ $backend == cuda ]]; then
  part nccl 120 "$node" "$app/bench/gpu/nccl.js" --backend "$backend" --out "$results/nccl.json" ${nccl:+--library "$nccl"}
else
  skipped nccl 'NCCL is for GPUs'
fi

limit=$(left node 50)
part node "$limit" "$node" --expose-gc "$app/bench/gpu/node/main.js" --backend "$backend" --device "$device" --card "$results/card.json" \
  --out "$results/node.jsonl" --minutes "$(whole_minutes "$limit")" "${tiny[@]}"

if [[ -n $python ]]; then
  limit=$(left bench 75)
  part bench "$limit" "$python" "$app/bench/gpu/python/bench.py" --library "$library" \
    --facts "$results/card.json" --out "$results/bench.jsonl" --device "$device" --minutes "$(whole_minutes "$limit")" "${tiny[@]}"
else
  skipped bench 'no python3 here'
fi

for tool in memcheck racecheck; do
  if [[ $backend != cuda ]]; then
    skipped "$tool" 'compute-sanitizer looks at a device only'
  elif [[ -z $sanitizer ]]; then
    skipped "$tool" 'no compute-sanitizer here'
  else
    part "$tool" "$(left "$tool" 60)" "$sanitizer" --tool "$tool" --target-processes all --error-exitcode 9 "$node" "$app/bench/gpu/short.js" --backend "$backend"
  fi
done

"$node" "$app/bench/gpu/summary.js" "$results" || failed=1
pack
echo "== $results.tar"
exit "$failed"
