"""Many clients that dial in to one server on this machine: updates a second, and memory a client.

    python3 benchmarks/federated_clients.py BUILD_FOLDER [CLIENTS] [FEATURES] [HIDDEN] [SECONDS] [--plain]

Each client is a `troupe client` process with five rows of its own. All take part in every round, over TLS unless --plain.
The clients train, too, on the same cores: where these are few, the figure says more of them than of the server.
"""

import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

words = [word for word in sys.argv[1:] if word != "--plain"]
BUILD = Path(words[0]).resolve()
CLIENTS, FEATURES, HIDDEN = (int(words[i]) if len(words) > i else (1_000, 9, 0)[i - 1] for i in (1, 2, 3))
PARAMETERS = (FEATURES + 2) * HIDDEN + 1 if HIDDEN else FEATURES + 1
SECONDS = float(words[4]) if len(words) > 4 else 20
IS_PLAIN = "--plain" in sys.argv
TROUPE = str(BUILD / "bin" / "troupe")
MODEL = f'kind = "neural-network"\nhidden = [{HIDDEN}]\n' if HIDDEN else 'kind = "linear-regression"\n'
JOB = f"""[job]
seed = 1
[data]
table = "table.json"
target_scale = "none"
[model]
{MODEL}
loss = "squared"
[optimizer]
kind = "sgd"
learning_rate = 0.01
[training]
strategy = "federated"
batch_size = 8
evaluate_every = 0
[federated]
rounds = 1000000
round_time = 600
"""


def memory_of(process, *keys):
    with open(f"/proc/{process.pid}/smaps_rollup", encoding="ascii") as file:
        rows = dict(line.split(":", 1) for line in file if ":" in line)
    return sum(int(rows[key].split()[0]) for key in keys if key in rows)


def cpu_seconds_of(process):
    with open(f"/proc/{process.pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rounds_in(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        header = ",".join([*(f"x{i}" for i in range(FEATURES)), "y"])

        def rows(seed):
            return "\n".join([header, *(",".join(str((seed + i * j) % 7 / 7) for j in range(FEATURES + 1))
                                        for i in range(5))]) + "\n"

        (folder / "sample.csv").write_text(rows(1), encoding="utf-8")
        (folder / "job.toml").write_text(JOB, encoding="utf-8")
        (folder / "sample.toml").write_text(f'[data]\nfile = "sample.csv"\ntarget_scale = "none"\n'
                                            f'[model]\nloss = "squared"\n{MODEL}',
                                            encoding="utf-8")

        def run(*arguments):
            subprocess.run([TROUPE, *arguments], cwd=folder, check=True, capture_output=True)

        run("data", "table", "sample.toml", "-o", "table.json")
        names = [f"c{i}" for i in range(CLIENTS)]
        run("certs", "ca")
        for begin in range(0, CLIENTS, 200):
            run("certs", "issue", *names[begin:begin + 200])
        run("certs", "issue", "hub")
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
        keys = {"listen": f"127.0.0.1:{port}", "cohort": CLIENTS, "clients": CLIENTS, "clients_max": 2 * CLIENTS}
        if not IS_PLAIN:
            keys |= {"ca": "ca.pem", "certificate": "hub.pem", "key": "hub.key"}
        sets = [word for key, value in keys.items() for word in ("--set", f"federated.{key}={value}")]
        server = subprocess.Popen([TROUPE, "train", "job.toml", "--quiet", "--set", "checkpoint.every_steps=1000000",
                                   *sets], cwd=folder, stdout=subprocess.DEVNULL)
        time.sleep(1)
        alone = memory_of(server, "Private_Clean", "Private_Dirty")
        begin = time.monotonic()
        started = []
        for one in names:
            (folder / f"{one}.csv").write_text(rows(len(started)), encoding="utf-8")
            secured = [] if IS_PLAIN else ["--ca", "ca.pem", "--certificate", f"{one}.pem", "--key", f"{one}.key",
                                           "--server-name", "hub"]
            started.append(subprocess.Popen([TROUPE, "client", f"127.0.0.1:{port}", "--data", f"{one}.csv", "--quiet",
                                             *secured], cwd=folder, stderr=subprocess.DEVNULL))
        record = folder / "runs" / "job" / "rounds.jsonl"
        try:
            while rounds_in(record) < 1:
                time.sleep(0.05)
            print(f"{CLIENTS} clients here after {time.monotonic() - begin:.1f} s")
            since, count, cpu = time.monotonic(), rounds_in(record), cpu_seconds_of(server)
            time.sleep(SECONDS)
            passed, done = time.monotonic() - since, rounds_in(record) - count
            used = cpu_seconds_of(server) - cpu
            updates = done * CLIENTS
            print(f"{PARAMETERS} parameters, {'plain' if IS_PLAIN else 'TLS'}: {updates / passed:,.0f} updates/s; of the "
                  f"server's own time {updates / max(used, 0.01):,.0f} a second of a core")
            with_clients = memory_of(server, "Private_Clean", "Private_Dirty")
            print(f"server {(with_clients - alone) / CLIENTS:.1f} KiB a client; a client "
                  f"{memory_of(started[0], 'Private_Clean', 'Private_Dirty') / 1024:.1f} MiB of its own")
        finally:
            for process in [server, *started]:
                process.kill()
            for process in [server, *started]:
                process.wait()


if __name__ == "__main__":
    main()
