"""How many clients' updates a second the program carries, beside bare loops and PyTorch.

    python3 benchmarks/federated_speed.py BUILD_FOLDER [--rounds N] [--no-torch]

Two cores, three measurements of each (N), all in turns; printed are medians and ratios' medians.

  10 parameters       linear regression of 9 features, 1,000,000 clients of 5 rows, 100,000 a round:
                      build/bin/federated_benchmark (two bare loops, and us, in one program); what
                      `troupe train examples/million_clients.toml` takes to begin, and of memory
  100,180 parameters  784-126-10, 1,000 clients of 50 rows, 500 a round, a visit in steps of 10

PyTorch is two processes of one thread each (torch_workloads.py), their updates added up; it is run by
/usr/bin/python3, which has Debian's python3-torch.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
SMALL = ("9-1", "5", "8")
LARGE = ("784-126-10", "50", "10")
LARGE_JOB = {
    "data.synthetic": "classification", "data.rows": 50_000, "data.features": 784, "data.classes": 10,
    "data.test_fraction": 0, "data.noise": 1.0, "model.hidden": "[126]", "optimizer.learning_rate": 0.05,
    "training.strategy": "federated", "training.batch_size": 10, "federated.clients": 1000,
    "federated.cohort": 500, "federated.rounds": 8}


def benchmark(build):
    out = subprocess.run([build / "bin" / "federated_benchmark"], check=True, stdout=subprocess.PIPE,
                         text=True).stdout
    return json.loads(out.splitlines()[-1])


def train(build, job, settings):
    """Updates a second, seconds beside training, and the greatest resident memory in MiB."""
    with tempfile.TemporaryDirectory() as folder:
        command = [build / "bin" / "troupe", "train", job, "--quiet", "--json"]
        for key, value in {**settings, "output.directory": f"{folder}/run", "training.evaluate_every": 0,
                           "training.replicas": 2, "runtime.threads": 2}.items():
            command += ["--set", f"{key}={value}"]
        begin = time.monotonic()
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
            out = run.stdout.read()
            _, status, used = os.wait4(run.pid, 0)
            run.returncode = os.waitstatus_to_exitcode(status)
        took = time.monotonic() - begin
    if run.returncode != 0:
        raise RuntimeError(out)
    result = json.loads(out)
    return result["clients"]["updates"] / result["seconds"], took - result["seconds"], used.ru_maxrss / 1024


def torch(workload):
    """Updates a second of two processes at once."""
    command = ["/usr/bin/python3", HERE / "torch_workloads.py", "federated", *workload]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
            for _ in range(2)]
    return sum(json.loads(run.communicate()[0])["value"] for run in runs)


def large_job(folder):
    file = Path(folder) / "large.toml"
    file.write_text("", encoding="utf-8")
    return file


def main():
    asked = argparse.ArgumentParser(description=__doc__,
                                    formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("build", type=Path)
    asked.add_argument("--rounds", type=int, default=3)
    asked.add_argument("--no-torch", action="store_true")
    given = asked.parse_args()
    found = {}

    def note(name, value):
        found.setdefault(name, []).append(value)

    with tempfile.TemporaryDirectory() as folder:
        large = large_job(folder)
        for _ in range(given.rounds):
            small = benchmark(given.build)
            note("10 parameters: two bare loops", small["bare"])
            note("10 parameters: troupe", small["updates"])
            note("10 parameters: troupe : bare loops", small["ratio"])
            _, begins, memory = train(given.build, HERE.parent / "examples" / "million_clients.toml", {})
            note("10 parameters: seconds beside training", begins)
            note("10 parameters: MiB at most", memory)
            rate, _, _ = train(given.build, large, LARGE_JOB)
            note("100,180 parameters: troupe", rate)
            if given.no_torch:
                continue
            for name, ours, workload in (("10", small["updates"], SMALL), ("100,180", rate, LARGE)):
                theirs = torch(workload)
                note(f"{name} parameters: torch", theirs)
                note(f"{name} parameters: troupe : torch", ours / theirs)
    for name, values in found.items():
        print(f"{name:42} {statistics.median(values):14,.2f}  "
              f"({min(values):,.2f} .. {max(values):,.2f})")


if __name__ == "__main__":
    main()
