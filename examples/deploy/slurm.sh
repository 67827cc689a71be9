#!/usr/bin/env bash
#SBATCH --job-name=troupe
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --time=01:00:00
#SBATCH --signal=TERM@120
#SBATCH --requeue
#SBATCH --open-mode=append
# One node of Troupe on each node of a Slurm allocation:
#
#   sbatch examples/deploy/slurm.sh JOB.toml [OPTION OF troupe node]...
#
# It writes the cluster file from the list of hosts, and srun starts one process on each; `troupe node`
# takes its place by SLURM_PROCID. Two minutes before the time is over all are told to stop: the run
# ends at a step, and the same command continues it from its last checkpoint (checkpoint.every_steps in
# the job). The output folder has to be on storage that all nodes see, or that the first one keeps.
set -euo pipefail

job=$(realpath -- "$1")
shift
port=${TROUPE_PORT:-7400}
cluster=$PWD/troupe-$SLURM_JOB_ID.toml
{
  printf 'job = "%s"\n' "$job"
  # The cluster's own network is trusted here; with certificates write [tls] instead.
  printf 'insecure = true\n'
  director=true
  for host in $(scontrol show hostnames "$SLURM_JOB_NODELIST"); do
    printf '[[node]]\nname = "%s"\naddress = "%s:%s"\nlisten = "0.0.0.0:%s"\n' \
      "${host%%.*}" "$host" "$port" "$port"
    printf 'replicas = %s\ndirector = %s\n' "${SLURM_CPUS_PER_TASK:-1}" "$director"
    director=false
  done
} > "$cluster"

# A worker that is lost must not take the others with it.
exec srun --kill-on-bad-exit=0 --cpus-per-task="${SLURM_CPUS_PER_TASK:-1}" \
  "${TROUPE:-troupe}" node "$cluster" --resume "$@"
