#!/bin/sh
# Kills a worker in the middle of a run and shows that nobody sees it in the result.
#
#   examples/cluster/kill_a_worker.sh
#
# It starts examples/cluster/spare.toml on this machine (a director, a worker, a spare), kills the
# worker "second" with kill -9 once the fifth epoch is over, shows what the director says about it,
# and trains the same job in one process. It prints:
#
#   killed: second
#   main | second was lost; spare stands in for second
#   main | the link with second is lost
#   replicas lost: 2, rollbacks: 0
#   parameters: those of one process
set -eu
cd "$(dirname "$0")/../.."
troupe=${TROUPE:-build/bin/troupe}
folder=$(mktemp -d)
trap 'kill "$cluster" 2>/dev/null || true; wait; rm -rf "$folder"' EXIT
length=training.epochs=200

# One value out of a result.
value() {
  sed -n "s/.*\"$1\":\"*\([^,\"}]*\).*/\1/p" "$2"
}

"$troupe" launch examples/cluster/spare.toml --json --set "$length" \
  --set "output.directory=$folder/cluster" >"$folder/cluster.json" 2>"$folder/lines" &
cluster=$!
for _ in $(seq 600); do
  grep -q 'Epoch ' "$folder/lines" && break
  kill -0 "$cluster" || { cat "$folder/lines"; exit 1; }
  sleep 0.1
done

# The process of this run that was started with `--name second`.
for number in $(cat "/proc/$cluster/task/$cluster/children"); do
  if tr '\0' ' ' <"/proc/$number/cmdline" | grep -q -- '--name second '; then
    kill -9 "$number" && echo "killed: second"
  fi
done
wait "$cluster"
grep 'main .*second \(is\|was\) lost' "$folder/lines" | tr -s ' ' | sort || true
echo "replicas lost: $(value replicas_lost "$folder/cluster.json")," \
  "rollbacks: $(value rollbacks "$folder/cluster.json")"

"$troupe" train examples/digits.toml --json --quiet --set "$length" \
  --set "output.directory=$folder/alone" >"$folder/alone.json"
if [ "$(value parameters_sha256 "$folder/cluster.json")" = \
  "$(value parameters_sha256 "$folder/alone.json")" ]; then
  echo "parameters: those of one process"
else
  echo "parameters: OTHERS THAN THOSE OF ONE PROCESS"
  exit 1
fi
