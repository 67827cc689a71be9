#!/usr/bin/env bash
# Starts the nodes of a cluster file by MPI's launcher: process 0 is the first node of the file, and so
# on. MPI only starts them; they speak over the addresses of the file.
#
#   examples/deploy/mpi.sh CLUSTER.toml [OPTION OF troupe node]...
#
# Give the hosts as usual, by MPIRUN="mpirun --hostfile hosts": host i must be that of node i's address.
# mpirun passes Ctrl-C on, and ends all processes when one fails: with it a lost worker ends the run,
# which --resume continues. Where a run has to outlive its workers use ssh_launch.sh or systemd.
set -euo pipefail

cluster=$1
shift
troupe=${TROUPE:-troupe}
read -ra mpirun <<< "${MPIRUN:-mpirun}"
count=$("$troupe" config show "$cluster" | grep -c '^\[\[node\]\]')
exec "${mpirun[@]}" -np "$count" "$troupe" node "$cluster" "$@"
