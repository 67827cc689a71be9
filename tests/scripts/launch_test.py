"""Clusters of processes: one set of bits whatever the placement, and nothing left behind.

    python3 tests/scripts/launch_test.py BUILD_FOLDER SOURCE_FOLDER

Trains examples/digits.toml with `troupe launch` on one, two and three processes, and compares with
`troupe train` in one.
"""

import json
import os
import signal
import subprocess
import time

from cluster_run import free_ports, nodes_text
from command import JOB, SOURCE, TROUPE, CommandTest, main, nodes_of
from patience import HANG, SLOWNESS, lenient, wait_until

BLOCK = 4096
ADAM_VALUES = 3  # parameter and two slots
DIGITS_PARAMETERS = 64 * 128 + 128 + 128 * 10 + 10
DIGITS_SLICES = 4
EXAMPLES = os.path.join(SOURCE, "examples", "cluster")
SHORT = ["--set", "training.epochs=3"]

# Name -> (replicas, shards) of each node; the first is the director.
PLACEMENTS = {
    "alone": [(2, 2)],
    "peer of two": [(1, 1), (2, 1)],
    "peer of three": [(1, 1), (1, 2), (1, 1)],
    "server": [(0, 2), (1, 0), (2, 0)],
    "server elsewhere": [(2, 0), (0, 1)],
}


def cluster_text(nodes, more=""):
    return f'job = "{JOB}"\n{more}\n' + nodes_text(nodes)


def parts_of(count, part_count):
    return [(k * count // part_count, (k + 1) * count // part_count) for k in range(part_count)]


def largest_nodes(begin, end, root):
    """How many nodes of the tree over the slices of `root` make up [begin, end)."""
    if end <= root[0] or root[1] <= begin:
        return 0
    if begin <= root[0] and root[1] <= end:
        return 1
    middle = root[0] + (1 << (root[1] - root[0] - 1).bit_length() - 1)
    return (largest_nodes(begin, end, (root[0], middle)) +
            largest_nodes(begin, end, (middle, root[1])))


def bytes_of(nodes, slices, steps, parameters):
    """What docs/protocol.md says that a run sends when nothing is sent twice."""
    blocks = -(-parameters // BLOCK)
    spans = iter(parts_of(blocks, min(blocks, sum(shards for _, shards in nodes))))
    replica_count = sum(replicas for replicas, _ in nodes)
    works = iter(parts_of(slices, min(slices, replica_count)))
    owned, sums = [], []
    for replicas, shards in nodes:
        here = [span for span in (next(spans, None) for _ in range(shards)) if span]
        owned.append(sum(min(end * BLOCK, parameters) - begin * BLOCK for begin, end in here))
        work = [part for part in (next(works, None) for _ in range(replicas)) if part]
        sums.append(largest_nodes(work[0][0], work[-1][1], (0, slices)) if work else 0)
    total = 0
    for index, (span, count) in enumerate(zip(owned, sums)):
        others = sum(1 for i, other in enumerate(sums) if i != index and other)
        total += steps * count * (parameters - span) + (steps + 1) * span * others
        total += span if index > 0 else 0  # the result, for the director
    return 4 * total + copied_bytes(sum(1 for span in owned if span), steps)


def copied_bytes(owners, steps):
    """What owners of all parameters send each other in copies, with the two slots of adam."""
    if owners < 2:
        return 0
    every = -(-10 * ADAM_VALUES // (owners - 1))
    return steps // every * 4 * ADAM_VALUES * DIGITS_PARAMETERS


class Launch(CommandTest):
    def setUp(self):
        super().setUp()
        self.file = str(self.folder / "cluster.toml")

    def tearDown(self):
        self.assertEqual(nodes_of(self.file), {})

    def write(self, text):
        super().write("cluster.toml", text)

    def start(self, *arguments):
        return super().start(TROUPE, "launch", self.file, "--json", *arguments)

    def trained_alone(self, *settings):
        return self.result_of("train", JOB, "--quiet", "--overwrite", *settings)

    def planned(self, steps):
        """What the plan says that a run sends of each kind, when nothing is sent twice."""
        plan = self.result_of("config", "show", self.file, "--plan", *SHORT)
        links = plan["process_links"]
        result = 4 * sum(end - begin for process in plan["processes"][1:]
                         for begin, end in process["spans"])  # for the director
        parameters = (steps + 1) * sum(link["parameters"] for link in links) + result
        owners = sum(1 for process in plan["processes"] if any(end > begin for begin, end in process["spans"]))
        kinds = {"gradient": steps * sum(link["gradients"] for link in links),
                 "parameters": parameters, "copy": copied_bytes(owners, steps)}
        return {kind: count for kind, count in kinds.items() if count}

    def test_one_set_of_bits_for_all_placements(self):
        alone = self.trained_alone(*SHORT)
        counted = []
        for name, nodes in PLACEMENTS.items():
            with self.subTest(name):
                self.write(cluster_text(nodes))
                # Without checkpoints, which are sent to the director, too.
                run = self.troupe("launch", self.file, "--json", "--overwrite", *SHORT, "--set",
                                   "checkpoint.every_steps=0")
                result = json.loads(run.stdout)
                self.expect_figures(result, alone, ("parameters_sha256", "job_sha256", "test_accuracy"))
                self.assertEqual(result["nodes"], len(nodes))
                self.assertEqual(result["replicas"], sum(replicas for replicas, _ in nodes))
                self.assertEqual(result["replicas_lost"], 0)
                self.assertRegex(run.stderr, r"main +\| Epoch 3/3")
                if len(nodes) > 1:
                    self.assertRegex(run.stderr, r"(?m)^main +\| \d{4}-\d\d-\d\d \d\d:\d\d:\d\d .*"
                                                 "everybody is here")
                if any(0 < replicas for replicas, _ in nodes[1:]):
                    self.assertGreater(result["bytes_early"], 0, "nothing left early")
                if result["resends"] == 0:
                    counted.append(name)
                    self.assertEqual(result["bytes_sent"], bytes_of(
                        nodes, DIGITS_SLICES, result["steps"], DIGITS_PARAMETERS))
                    self.assertEqual(result["bytes_by_kind"], self.planned(result["steps"]))
        self.assertGreaterEqual(len(counted), 3, "so many runs sent something twice")

    def test_examples_train_as_one_process_does(self):
        alone = self.trained_alone(*SHORT)
        for name in ("two_nodes", "parameter_server"):
            with self.subTest(name):
                run = self.troupe("launch", os.path.join(EXAMPLES, name + ".toml"), "--json",
                                   "--quiet", *SHORT)
                self.assertEqual(run.stderr, "")
                result = json.loads(run.stdout)
                self.assertEqual(result["parameters_sha256"], alone["parameters_sha256"])
                self.assertEqual(result["model_file"], f"runs/{name}/model.safetensors")

    def test_statistics_name_the_replicas_of_all_nodes(self):
        self.write(cluster_text([(1, 1), (2, 0)]))
        run = self.troupe("launch", self.file, "--quiet", "--stats", *SHORT)
        table = run.stdout.split("\n\n")[-1].splitlines()
        self.assertEqual(table[0].split()[:3], ["replica", "results", "last"])
        self.assertEqual([line.split()[0] for line in table[1:]], ["main/0", "left/0", "left/1"])
        results = {int(line.split()[1]) for line in table[1:]}
        self.assertEqual(len(results), 1, f"of some replica not every step is told:\n{run.stdout}")

    def test_run_directory_is_guarded_as_that_of_train(self):
        self.write(cluster_text(PLACEMENTS["peer of two"]))
        first = self.troupe("launch", self.file, "--json", "--quiet", *SHORT)
        again = self.troupe("launch", self.file, "--json", *SHORT, code=73)
        self.assertEqual(json.loads(again.stdout)["error"]["code"], "cannot-create")
        self.assertIn("troupe: error: node 'main' failed first: exit code 73", again.stderr)
        resumed = self.troupe("launch", self.file, "--json", "--resume", *SHORT)
        self.assertEqual(json.loads(resumed.stdout), json.loads(first.stdout))

    def test_finished_run_is_over_for_everybody_at_once(self):
        self.write(cluster_text(PLACEMENTS["server"]))
        first = self.troupe("launch", self.file, "--json", *SHORT)
        begin = time.monotonic()
        again = self.troupe("launch", self.file, "--json", "--resume", *SHORT)
        self.assertLess(time.monotonic() - begin, lenient(5))
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(json.loads(again.stdout), json.loads(first.stdout))
        for name in ("main", "left", "right"):
            self.assertRegex(again.stderr, name + r" +\|.*the run is finished \(step \d+, "
                             r"stopped by epochs\)")

    def test_finished_run_is_over_for_nodes_started_by_hand(self):
        self.write(cluster_text(PLACEMENTS["peer of two"]).replace(
            'main"\naddress = "127.0.0.1:0', f'main"\naddress = "127.0.0.1:{free_ports(1)[0]}').replace(
            'left"\naddress = "127.0.0.1:0', f'left"\naddress = "127.0.0.1:{free_ports(1)[0]}'))
        self.troupe("launch", self.file, "--quiet", *SHORT)
        with subprocess.Popen([TROUPE, "node", self.file, "--name", "left", *SHORT], text=True,
                              cwd=self.folder, stderr=subprocess.PIPE) as worker:
            self.troupe("node", self.file, "--name", "main", "--resume", *SHORT)
            said = worker.communicate(timeout=HANG)[1]
        self.assertEqual(worker.returncode, 0, said)
        self.assertIn("the run is finished (step ", said)

    def test_keys_of_all_nodes_reach_every_node(self):
        self.write(cluster_text(PLACEMENTS["peer of two"]))
        wrong = self.troupe("launch", self.file, "--set", "timeouts.lost_after=1s", *SHORT, code=78)
        self.assertIn("--set timeouts.lost_after=1s: one late heartbeat", wrong.stderr)
        self.troupe("launch", self.file, "--json", *SHORT, "--set", "timeouts.heartbeat=100ms",
                    env={**os.environ, "TROUPE_TIMEOUTS__LOST_AFTER": "900ms"})

    def test_killed_worker_is_invisible_in_the_result(self):
        settings = ["--set", "training.epochs=60"]
        alone = self.trained_alone(*settings)
        self.write(cluster_text([(1, 1), (1, 0), (1, 0)],
                                f'[timeouts]\nheartbeat = "{int(SLOWNESS * 200)}ms"\n'
                                f'lost_after = "{int(SLOWNESS * 1000)}ms"'))
        run = self.start("--overwrite", *settings)
        self.said_until(run, "Epoch 1/60")
        os.kill(nodes_of(self.file)["right"], signal.SIGKILL)
        out, said = run.communicate(timeout=HANG)
        self.assertEqual(run.returncode, 0, said)
        result = json.loads(out)
        self.assertEqual(result["parameters_sha256"], alone["parameters_sha256"])
        self.assertEqual(result["replicas_lost"], 1)
        self.assertIn("troupe: warning: node 'right' was lost, the others did its work: killed by "
                      "signal 9", said)

    def test_signals_stop_at_a_version_and_keep_it(self):
        self.write(cluster_text(PLACEMENTS["peer of two"]))
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number):
                run = self.start("--overwrite", "--set", "training.epochs=1000000")
                self.said_until(run, "Epoch ")
                run.send_signal(number)
                out, said = run.communicate(timeout=HANG)
                self.assertEqual(run.returncode, 128 + number, said)
                result = json.loads(out)
                self.assertEqual(result["stopped_by"], "interrupt")
                self.assertTrue(os.path.exists(os.path.join(self.folder, result["model_file"])))
                self.assertNotIn("failed first", said)

    def test_second_signal_ends_everything_at_once(self):
        self.write(cluster_text(PLACEMENTS["peer of two"]))
        run = self.start("--set", "training.epochs=1000000")
        self.said_until(run, "Epoch ")
        os.kill(nodes_of(self.file)["main"], signal.SIGSTOP)  # a director that does not stop
        run.send_signal(signal.SIGINT)
        time.sleep(1.1)  # what comes within a second is the first once more
        begin = time.monotonic()
        run.send_signal(signal.SIGINT)
        out, said = run.communicate(timeout=HANG)
        self.assertEqual(run.returncode, 130, said)
        self.assertEqual(json.loads(out)["error"]["code"], "interrupted")
        self.assertLess(time.monotonic() - begin, lenient(12), "the director was waited for")

    def test_nothing_is_left_when_launch_is_killed(self):
        self.write(cluster_text(PLACEMENTS["peer of three"]))
        run = self.start("--set", "training.epochs=1000000")
        self.said_until(run, "Epoch ")
        self.assertEqual(len(nodes_of(self.file)), 3)
        run.kill()
        run.communicate(timeout=HANG)
        wait_until(lambda: not nodes_of(self.file))

    def test_killed_director_ends_the_run_with_its_signal_and_one_object(self):
        self.write(cluster_text(PLACEMENTS["peer of two"]))
        run = self.start("--set", "training.epochs=1000000")
        self.said_until(run, "Epoch ")
        os.kill(nodes_of(self.file)["main"], signal.SIGKILL)
        out, said = run.communicate(timeout=HANG)
        self.assertEqual(run.returncode, 128 + signal.SIGKILL, said)
        self.assertEqual(json.loads(out)["error"]["code"], "internal")
        self.assertIn("troupe: error: node 'main' failed first: killed by signal 9", said)

    def test_wrong_starts_are_told_at_once(self):
        self.write(cluster_text(PLACEMENTS["peer of two"]))
        unknown = self.troupe("node", self.file, "--name", "mein", code=2)
        self.assertIn("did you mean 'main'?", unknown.stderr)
        no_port = self.troupe("node", self.file, "--name", "main", "--json", code=78)
        self.assertEqual(json.loads(no_port.stdout)["error"]["code"], "bad-job")
        self.assertIn("troupe launch", no_port.stderr)
        self.write(cluster_text(PLACEMENTS["peer of two"], "training.replicas = 3"))
        refused = self.troupe("launch", self.file, "--json", code=78)
        self.assertIn("training.replicas", json.loads(refused.stdout)["error"]["what"])
        self.troupe("launch", JOB, code=78)
        self.troupe("launch", "none.toml", code=66)


if __name__ == "__main__":
    main()
