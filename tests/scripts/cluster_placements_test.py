"""One set of bits for every placement on 1, 2, 3 and 5 processes, also when most shards are empty.

    python3 tests/scripts/cluster_placements_test.py BUILD_FOLDER SOURCE_FOLDER [all]

`troupe launch` trains the jobs of examples/ on several processes of this machine; parameters and
figures are those of `troupe train`. Without `all`: fewer epochs and fewer placements. MNIST takes
part when the folder TROUPE_DATA_DIR has its 10,000 rows.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

from cluster_run import SOURCE, TROUPE, Node, cluster_text, timeouts, trained_alone
from patience import HANG, SLOWNESS

ALL = sys.argv[3:] == ["all"]
MNIST = os.path.join(os.environ.get("TROUPE_DATA_DIR", ""), "mnist-10k-images-idx3-ubyte.gz")

# (job, its settings, epochs with `all`, epochs without). diabetes has 11 parameters: one block, so
# all shards but one own nothing.
JOBS = [("digits", "", 20, 2), ("diabetes", "training.slices = 4\n", 1000, 50)]
if os.path.isfile(MNIST):
    JOBS.append(("mnist", f'data.file = "{MNIST}"\n', 2, 0))


def peer(count):
    return [(1, 1)] * count


def server(count):
    """Shards on the first half, replicas on the others."""
    shards = max(1, count // 2)
    return [(0, 1)] * shards + [(1, 0)] * (count - shards)


def placements():
    if not ALL:
        return {"peer of 5": peer(5), "server of 3": server(3)}
    result = {"one process": [(2, 2)], "one process, many shards": [(3, 5)]}
    for count in (2, 3, 5):
        result[f"peer of {count}"] = peer(count)
        result[f"server of {count}"] = server(count)
    return result


class Placements(unittest.TestCase):
    def launch(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "cluster.toml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            run = subprocess.run([TROUPE, "launch", path, "--json", "--quiet"], cwd=folder,
                                 capture_output=True, text=True, timeout=HANG, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        return json.loads(run.stdout)

    def test_every_placement_gives_the_bits_of_one_process(self):
        for name, settings, many, few in JOBS:
            epochs = many if ALL else few
            if epochs == 0:
                continue
            job = os.path.join(SOURCE, "examples", name + ".toml")
            settings += f"training.epochs = {epochs}\n"
            alone = trained_alone(job, [x.replace(" ", "").replace('"', "")
                                        for x in settings.splitlines()])
            for placement, shapes in placements().items():
                with self.subTest(job=name, placement=placement):
                    begin = time.monotonic()
                    nodes = [Node("main" if i == 0 else f"n{i}", *shape, "127.0.0.1:0")
                             for i, shape in enumerate(shapes)]
                    result = self.launch(settings + cluster_text(nodes, job=job,
                                                                 timing=timeouts(5 * SLOWNESS, 60)))
                    for key in ("parameters_sha256", "job_sha256", "steps", "train_loss",
                                "test_loss", "test_accuracy", "test_r2"):
                        self.assertEqual(result[key], alone[key], key)
                    self.assertEqual(result["nodes"], len(shapes))
                    self.assertEqual(result["rollbacks"], 0)
                    print(f"{name}, {placement}: equal, {time.monotonic() - begin:.1f} s",
                          flush=True)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
