#!/usr/bin/env bash
# Starts `troupe node` on every machine of a cluster file by ssh, and ends all of them together.
#
#   examples/deploy/ssh_launch.sh CLUSTER.toml [OPTION OF troupe node]...
#
#   TROUPE   the command here and there (troupe)
#   FOLDER   the folder there in which CLUSTER.toml and the data are found (this one)
#   SSH      what connects, with options (ssh -o BatchMode=yes); users and keys belong in ~/.ssh/config
#
# A node runs on the host of its address. The director's result comes out here, so --json works.
# Ctrl-C (or SIGTERM) once stops the run at a step and keeps it; a second one ends everything at once.
# A node lives no longer than its connection: when this script is killed, or the network goes, it is
# told to stop, and killed 20 s later. The exit code is the director's, or that of a node which
# refuses to take part; 130 after Ctrl-C, 255 when ssh cannot connect.
set -uo pipefail

[ $# -ge 1 ] || { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2; exit 2; }
cluster=$1
shift
troupe=${TROUPE:-troupe}
folder=${FOLDER:-$PWD}
read -ra connect <<< "${SSH:-ssh -o BatchMode=yes}"
scratch=$(mktemp -d)

# Name, host and whether it is the director, for each node.
nodes=$("$troupe" config show "$cluster") || exit
nodes=$(awk -F' = ' '
  function put() { if (name) print name, host, director }
  /^\[/ { put(); name = ""; here = $0 == "[[node]]"; director = "no" }
  here && $1 == "name" { name = $2; gsub(/"/, "", name) }
  here && $1 == "address" { host = $2; gsub(/^"|:[0-9]*"$|[][]/, "", host) }
  here && $1 == "director" && $2 == "true" { director = "yes" }
  END { put() }' <<< "$nodes")

# There: runs a command, and ends it when the connection does (nothing is ever sent over it).
# shellcheck disable=SC2016 # it is expanded over there
keeper='exec 3<&0
"$@" 3<&- </dev/null & child=$!
{ cat <&3; kill -TERM "$child"; sleep 20; kill -KILL "$child"; } >/dev/null 2>&1 &
watcher=$!
wait "$child"; code=$?
kill "$watcher" 2>/dev/null
exit "$code"'

declare -A name_of=() # process of ssh -> node
director=
director_name=

# Sends nothing for as long as this script lives: the end of it is the sign to stop.
hold() {
  echo "$BASHPID" > "$scratch/$1"
  exec tail --pid=$$ -s 0.2 -f /dev/null 2> /dev/null
}

start() {
  local name=$1 host=$2 command
  shift 2
  printf -v command '%q ' sh -c "$keeper" sh "$troupe" node "$cluster" --name "$name" "$@"
  "${connect[@]}" "$host" "cd $(printf %q "$folder") && exec $command" < <(hold "$name") &
  name_of[$!]=$name
}

stop() { kill "$(cat "$scratch/$1" 2> /dev/null)" 2> /dev/null; }
stop_all() { for name in "${name_of[@]}"; do stop "$name"; done; }

signals=0
# shellcheck disable=SC2317 # called by the trap
on_signal() {
  signals=$((signals + 1))
  if [ "$signals" = 1 ]; then stop "$director_name"; else stop_all; fi
}
trap on_signal INT TERM
trap 'stop_all; wait; rm -rf "$scratch"' EXIT

while read -r name host is_director; do
  start "$name" "$host" "$@"
  [ "$is_director" = no ] || { director=$! director_name=$name; }
done <<< "$nodes"
[ -n "$director" ] || { echo "ssh_launch: no director in $cluster" >&2; exit 2; }

# The first that refuses to work, and would again, ends the run.
result=
while [ ${#name_of[@]} -gt 0 ]; do
  code=0
  wait -n -p ended "${!name_of[@]}" || code=$?
  [ -n "${ended:-}" ] || continue # a signal
  name=${name_of[$ended]}
  unset "name_of[$ended]"
  case $code in
    2 | 65 | 66 | 73 | 76 | 77 | 78 | 126 | 127 | 255)
      [ -n "$result" ] || echo "ssh_launch: node '$name' failed first: exit code $code" >&2
      result=${result:-$code}
      stop_all ;;
  esac
  if [ "$ended" = "$director" ]; then
    result=${result:-$code}
    # The others hear from the director that the run is over.
    (sleep 5; for rest in "${name_of[@]}"; do stop "$rest"; done) &
    reaper=$!
  fi
done
[ -z "${reaper:-}" ] || kill "$reaper" 2> /dev/null
[ "$signals" = 0 ] || result=130
exit "${result:-70}"
