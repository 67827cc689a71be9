"""How many clients' updates a second the program carries.

    python3 benchmarks/federated_speed.py TROUPE examples/million_clients.toml [--set a.b=value]...

Trains the job three times and prints, of the quickest run, updates a second in training, how long it took until
training began, and the greatest resident memory beside that of the rows.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time

RUNS = 3


def run(troupe, job, settings):
    with tempfile.TemporaryDirectory() as folder:
        command = [troupe, "train", job, "--quiet", "--json", "--set",
                   f"output.directory={folder}/run", "--set", "training.evaluate_every=0"]
        for setting in settings:
            command += ["--set", setting]
        begin = time.monotonic()
        out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        took = time.monotonic() - begin
    result = json.loads(out)
    return result["clients"]["updates"] / result["seconds"], took - result["seconds"], result


def main(troupe, job, *settings):
    runs = [run(troupe, job, [x for x in settings if x != "--set"]) for _ in range(RUNS)]
    rate, before, result = max(runs, key=lambda x: x[0])
    resident = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"{rate:,.0f} updates a second, {result['clients']['updates']:,} in "
          f"{result['seconds']:.3f} s; {before:.1f} s beside training; {resident:,.0f} MiB at most; "
          f"sha256 {result['parameters_sha256'][:12]}")


if __name__ == "__main__":
    main(*sys.argv[1:])
