#!/bin/sh
# Nodes join a run in the middle, one is killed, one is asked to leave: nobody sees it in the result.
#
#   examples/cluster/come_and_go.sh
#
# It starts the one node that examples/cluster/elastic.toml lists, and then "red" and "blue", which it does not list.
# Once both compute it ends red with kill -9 and blue with SIGTERM, stops the run, and trains as many steps in one
# process. It prints:
#
#   joined: red, blue
#   killed: red
#   left: blue, exit code 0
#   joins: 2, leaves: 1, replicas lost: 1
#   parameters: those of one process
set -eu
cd "$(dirname "$0")/../.."
troupe=${TROUPE:-build/bin/troupe}
folder=$(mktemp -d)
trap 'kill -9 $main $red $blue 2>/dev/null || true; wait; rm -rf "$folder"' EXIT
main='' red='' blue=''
# At a port of its own.
sed -e "s/:7400/:$((20000 + $$ % 10000))/" -e "s|\.\./digits|$PWD/examples/digits|" examples/cluster/elastic.toml \
  >"$folder/elastic.toml"

# A node of the cluster; more than anybody waits for.
node() {
  exec "$troupe" node "$folder/elastic.toml" --name "$1" --json --set training.epochs=1000000 \
    --set "output.directory=$folder/cluster" >"$folder/$1.json" 2>"$folder/$1"
}
# Until the node has said so, as a pattern.
wait_for() {
  for _ in $(seq 600); do
    grep -q "$2" "$folder/$1" 2>/dev/null && return
    sleep 0.1
  done
  tail -n 20 "$folder/main" "$folder/$1"
  exit 1
}
# One value out of a result.
value() {
  sed -n "s/.*\"$1\":\"*\([^,\"}]*\).*/\1/p" "$2"
}

node main & main=$!
wait_for main 'Epoch '
node red & red=$!
node blue & blue=$!
wait_for red 'computes slice'
wait_for blue 'computes slice'
echo "joined: red, blue"
kill -9 "$red" && echo "killed: red"
wait_for main 'red was lost'
kill "$blue"
code=0
wait "$blue" || code=$?
echo "left: blue, exit code $code"
kill "$main"
wait "$main" || true
echo "joins: $(value joins "$folder/main.json"), leaves: $(value leaves "$folder/main.json")," \
  "replicas lost: $(value replicas_lost "$folder/main.json")"

"$troupe" train examples/digits.toml --json --quiet --set training.epochs=1000000 \
  --set "training.steps=$(value steps "$folder/main.json")" --set "output.directory=$folder/alone" >"$folder/alone.json"
if [ "$(value parameters_sha256 "$folder/main.json")" = "$(value parameters_sha256 "$folder/alone.json")" ]; then
  echo "parameters: those of one process"
else
  echo "parameters: OTHERS THAN THOSE OF ONE PROCESS"
  exit 1
fi
