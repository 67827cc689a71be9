#!/bin/sh
# Kills a worker in the middle of a run and shows that nobody sees it in the result.
#
#   examples/cluster/kill_a_worker.sh
#
# It starts examples/cluster/spare.toml on this machine (a director, a worker, a spare), kills the
# worker "second" with kill -9 once training goes on and the spare is there, shows what the director
# says about it, and trains the same job in one process. It prints:
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
length=training.epochs=400
: >"$folder/lines"

# One value out of a result.
value() {
  sed -n "s/.*\"$1\":\"*\([^,\"}]*\).*/\1/p" "$2"
}

"$troupe" launch examples/cluster/spare.toml --json --set "$length" \
  --set "output.directory=$folder/cluster" >"$folder/cluster.json" 2>"$folder/lines" &
cluster=$!
spare_is_here() {
  "$troupe" status examples/cluster/spare.toml --set "output.directory=$folder/cluster" \
    2>"$folder/status" | grep -Eq '^spare .* (linked|takes part) '
}
for _ in $(seq 600); do
  grep -q 'Epoch ' "$folder/lines" && spare_is_here && break
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
# Without the date and the time of day.
sed -n 's/^main *| [-0-9]* [:0-9]* \(.*second \(is\|was\) lost\)/main | \1/p' "$folder/lines" | sort
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
