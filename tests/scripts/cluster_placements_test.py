"""One set of bits for every placement on 1, 2, 3 and 5 processes, also when most shards are empty, and
however a model is split over 2 to 4 processes, or fully sharded, plain and secured.

    python3 tests/scripts/cluster_placements_test.py BUILD_FOLDER SOURCE_FOLDER [all]

`troupe launch` trains the jobs of examples/ on several processes of this machine; parameters and
figures are those of `troupe train`. Without `all`: fewer epochs and fewer placements. MNIST takes
part when the folder TROUPE_DATA_DIR has its 10,000 rows.
"""

import itertools
import os
import sys
import time

from cluster_run import Node, cluster_text, timeouts, trained_alone
from command import JOB, SOURCE, CommandTest, main
from patience import SLOWNESS
from secured_cluster import make_certificates, tls_text

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


class PlacedTest(CommandTest):
    def write_cluster(self, shapes, job, keys="", settings=""):
        nodes = [Node("main" if i == 0 else f"n{i}", *shape, "127.0.0.1:0") for i, shape in enumerate(shapes)]
        return self.write("cluster.toml", keys + cluster_text(nodes, settings, timeouts(5 * SLOWNESS, 60), job))


class Placements(PlacedTest):
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
                    result = self.result_of("launch", self.write_cluster(shapes, job, keys=settings), "--quiet",
                                            "--overwrite")
                    self.expect_figures(result, alone, (*FIGURES, "test_r2"))
                    self.assertEqual(result["nodes"], len(shapes))
                    self.assertEqual(result["rollbacks"], 0)
                    # What is asked for again comes 200 ms late: no step may need that.
                    self.assertLess(result["resends"], result["steps"] / 4)
                    print(f"{name}, {placement}: equal, {time.monotonic() - begin:.1f} s",
                          flush=True)


# ---- Models that several processes carry ----

FIGURES = ("parameters_sha256", "job_sha256", "steps", "train_loss", "test_loss", "test_accuracy")
MODEL = ["model.hidden=[48, 48, 48]", "model.cuts=4", "training.slices=6"]
EPOCHS = 4

# Shapes are (replicas, shards) of each node. (tensor, pipeline, shapes, sharded)
SPLITS = [
    (2, 1, [(1, 1), (1, 1)], False),
    (1, 2, [(1, 1), (1, 0)], False),
    (2, 2, [(2, 1), (2, 2), (2, 1), (2, 0)], False),
    (4, 1, [(3, 1), (2, 1)], False),
    (1, 1, [(1, 1), (1, 1)], False),
    (3, 2, [(0, 1), (4, 0), (3, 1)], False),
    (1, 1, [(1, 1), (1, 2), (1, 0)], True),
    (1, 1, [(0, 1), (3, 1)], True),
]


def split_text(tensor, pipeline, sharded):
    return (f"parallel.tensor = {tensor}\nparallel.pipeline = {pipeline}\n"
            f"parallel.sharded = {str(sharded).lower()}\n")


def settings_of(tensor, pipeline, sharded, more=""):
    lines = [x.replace("=", " = ", 1) for x in MODEL]
    return ("\n".join(lines) + "\n" + split_text(tensor, pipeline, sharded) + more
            + "[checkpoint]\nevery_steps = 7\n")


# Every step has as many rows, and nothing is evaluated or checkpointed.
EQUAL_STEPS = """[data]
synthetic = "classification"
rows = 640
features = 20
classes = 6
[model]
hidden = [48, 40, 48]
cuts = 4
cut = ["outputs", "inputs", "none", "outputs"]
[training]
batch_size = 64
slices = 4
steps = 20
evaluate_every = 0
[checkpoint]
every_steps = 0
"""


def bytes_of(plan, steps):
    """What a run sends of each kind when nothing is sent twice."""
    links = plan["process_links"]
    result = 4 * sum(end - begin for process in plan["processes"][1:]
                     for begin, end in process["spans"])  # for the director
    kinds = {"gradient": steps * sum(link["gradients"] for link in links), "result": result,
             "parameters": (steps + 1) * sum(link["parameters"] for link in links) + result
                           + steps * sum(link["fetched"] for link in links),
             "boundary": steps * sum(link["forward"] + link["backward"] + link["figures"]
                                 for link in links)}
    return {kind: count for kind, count in kinds.items() if count or kind == "result"}


class Splits(PlacedTest):
    def launch(self, split, *words, more="", code=0):
        tensor, pipeline, shapes, sharded = split
        file = self.write_cluster(shapes, JOB, settings=settings_of(tensor, pipeline, sharded) + more)
        return self.result_of("launch", file, "--quiet", *words, code=code)

    def test_every_split_gives_the_bits_of_one_process(self):
        epochs = f"training.epochs={EPOCHS}"
        alone = trained_alone(JOB, [*MODEL, epochs])
        make_certificates(os.path.join(self.folder, "keys"), "main", "n1", "n2", "n3")
        secured = tls_text(os.path.join(self.folder, "keys"))
        for split, more in itertools.product(SPLITS, ["", secured]):
            if more and not ALL and split not in (SPLITS[2], SPLITS[6]):
                continue
            with self.subTest(split=split, secured=bool(more)):
                result = self.launch(split, "--overwrite", "--set", epochs, more=more)
                self.expect_figures(result, alone, FIGURES, split)
                self.assertEqual(result["rollbacks"], 0)
                self.assertLess(result["resends"], result["steps"] / 4)
                self.assertEqual("boundary" in result["bytes_by_kind"], split[:2] != (1, 1))
                if split[:2] != (1, 1):
                    self.expect_waits_to_be_told(result["trainers"])

    def expect_waits_to_be_told(self, trainers):
        """Whoever waits in a group waits for another of it."""
        working = [one for one in trainers if one["partition"] != "spare"]
        for one in working:
            self.assertGreater(one["results"], 0, one)
            self.assertGreater(one["computed_ms"], 0, one)
            self.assertEqual(one["network_ms"], 0, one)
        self.assertLessEqual(sum(one["last_by_ms"] for one in working),
                             1 + sum(one["waited_ms"] for one in working))

    def test_a_run_goes_on_under_any_other_split(self):
        half = ["--set", "training.epochs=2"]
        alone = trained_alone(JOB, [*MODEL, "training.epochs=4"])
        pairs = list(itertools.permutations(SPLITS, 2))
        for first, second in pairs if ALL else pairs[::11]:
            with self.subTest(first=first, second=second):
                self.launch(first, "--overwrite", *half)
                result = self.launch(second, "--resume", "--set", "training.epochs=4")
                self.expect_figures(result, alone, FIGURES, (first, second))

    def test_bytes_of_each_kind_are_those_of_the_plan(self):
        job = self.write("job.toml", EQUAL_STEPS)
        counted = []
        formats = itertools.cycle(["", 'training.exchange = "bf16"\n'])
        for (tensor, pipeline, shapes, sharded), exchange in zip(SPLITS, formats):
            if sharded and max(replicas for replicas, _ in shapes) > 1:
                continue  # replicas of a process share what they fetch at the same time
            with self.subTest(split=(tensor, pipeline, shapes, sharded)):
                file = self.write_cluster(shapes, job, settings=split_text(tensor, pipeline, sharded) + exchange)
                result = self.result_of("launch", file, "--quiet", "--overwrite")
                if result["resends"] == 0 and result["views"] == 1:
                    counted.append(shapes)
                    plan = self.result_of("config", "show", file, "--plan")
                    kinds, planned = result["bytes_by_kind"], bytes_of(plan, result["steps"])
                    copies = kinds.pop("copy", 0)  # tests/scripts/launch_test.py counts them
                    self.assertEqual(copies > 0, (tensor, pipeline, sharded) == (1, 1, False))
                    # The last version, and the result for the director, may be on their way when
                    # bytes are counted last.
                    late = planned.pop("result") + sum(link["parameters"]
                                                       for link in plan["process_links"])
                    missing = planned["parameters"] - kinds.pop("parameters")
                    self.assertTrue(0 <= missing <= late, (missing, late))
                    del planned["parameters"]
                    self.assertEqual(kinds, planned)
        self.assertGreaterEqual(len(counted), 2, "so many runs sent something twice")

    def test_fewer_replicas_than_a_group_are_refused_by_name(self):
        end = self.launch((4, 2, [(2, 1), (3, 1)], False), code=78)["error"]
        self.assertIn("a group needs 8 replicas, the nodes have 5 in all", end["what"])


if __name__ == "__main__":
    main()
