"""Timelines and hashes of versions: what --trace writes, what `trace merge` makes of it, and what `compare`
makes of the hashes in a history.

    python3 tests/scripts/page/timeline_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...
"""

import json
import re
import sys
from collections import defaultdict

sys.path.insert(0, f"{sys.path[0]}/..")
from cluster_run import cluster_text, nodes_on_loopback
from command import SOURCE, JobTest, main, rows_of_csv

JOB = f"""[data]
file = "{SOURCE / 'examples' / 'data' / 'digits.csv.gz'}"
standardize = true
test_fraction = 0.25
[model]
kind = "neural-network"
hidden = [256, 256]
[optimizer]
kind = "adam"
[training]
batch_size = 256
slices = 4
epochs = 2
"""
STEPS = 12  # of the job


class Timeline:
    """A file that --trace or `trace merge` wrote."""

    def __init__(self, path):
        self.object = json.loads(path.read_text(encoding="utf-8"))
        self.events = self.object["traceEvents"]

    def of(self, phase):
        return [x for x in self.events if x["ph"] == phase]

    def names(self, kind):
        return {(x["pid"], x["tid"]): x["args"]["name"] for x in self.of("M") if x["name"] == kind}

    def spans(self, name):
        return [x for x in self.of("X") if x["name"] == name]


class Timelines(JobTest):
    job_text = JOB

    def expect_task(self, timeline):
        """Spans of one row follow each other or lie in each other: viewers draw nothing else."""
        rows = defaultdict(list)
        for span in timeline.of("X"):
            rows[span["pid"], span["tid"]].append((span["ts"], span["ts"] + span["dur"]))
        for row, spans in rows.items():
            open_ends = []
            for begin, end in sorted(spans, key=lambda x: (x[0], -x[1])):
                while open_ends and open_ends[-1] <= begin + 0.001:
                    open_ends.pop()
                if open_ends:
                    self.assertLessEqual(end, open_ends[-1] + 0.002, row)
                open_ends.append(end)

    def expect_flows(self, timeline, from_begin):
        """Each message that came was sent, and by then."""
        sent = {x["id"]: x for x in timeline.of("s")}
        came = timeline.of("f")
        self.assertGreater(len(came), 0)
        pairs = [(sent[x["id"]], x) for x in came if x["id"] in sent]
        if from_begin:
            missing = [x for x in came if x["id"] not in sent]
            self.assertEqual(missing, [])
        for out, back in pairs:
            self.assertLessEqual(out["ts"], back["ts"])
        return pairs

    # ---- One process

    def test_a_run_in_one_process_shows_every_step_of_everybody(self):
        traced = self.train("traced", "training.replicas=2", "runtime.threads=2", more=["--trace", "t.json"])
        plain = self.train("plain", "training.replicas=1")
        self.assertEqual(traced["parameters_sha256"], plain["parameters_sha256"])
        timeline = Timeline(self.folder / "t.json")
        actors = timeline.names("thread_name")
        self.assertEqual(set(actors.values()), {"replica 0", "replica 1", "shard 0", "shard 1", "writer"})
        lanes = {x["actor"]: x for x in timeline.object["otherData"]["lanes"]}
        self.assertEqual([x["dropped"] for x in lanes.values()], [0] * 5)
        slices = {(x["args"]["step"], x["args"]["slice"]) for x in timeline.spans("slice")}
        self.assertEqual(slices, {(step, one) for step in range(STEPS) for one in range(4)})
        updates = [x["args"]["step"] for x in timeline.spans("add and update")]
        self.assertEqual(sorted(updates), sorted(2 * list(range(STEPS))))
        evaluated = {x["args"]["step"] for x in timeline.spans("evaluate")}
        self.assertEqual(evaluated, {6, 12})
        self.assertEqual({x["args"]["step"] for x in timeline.spans("hash")}, {6, 12})
        self.expect_task(timeline)
        pairs = self.expect_flows(timeline, from_begin=True)
        ways = {(actors[a["pid"], a["tid"]].split()[0], actors[b["pid"], b["tid"]].split()[0])
                for a, b in pairs}
        self.assertEqual(ways, {("replica", "shard"), ("shard", "replica")})
        for wait in timeline.spans("wait for parameters"):
            self.assertIn("replica", actors[wait["pid"], wait["tid"]])

    def test_trainers_and_their_server_have_rows(self):
        self.write("job.toml", JOB.replace("slices = 4\n", ""))
        self.train("kept", "training.strategy=parameters", "training.members=2", "training.local_steps=3",
                   more=["--trace", "t.json"])
        timeline = Timeline(self.folder / "t.json")
        self.assertIn("server", timeline.names("thread_name").values())
        self.assertTrue(timeline.spans("slice"))
        self.expect_task(timeline)
        self.expect_flows(timeline, from_begin=True)

    def test_what_is_written_has_a_row(self):
        self.train("run", "checkpoint.every_steps=4", more=["--trace", "t.json"])
        timeline = Timeline(self.folder / "t.json")
        rows = timeline.names("thread_name")
        for what in ("write", "finish checkpoint"):
            self.assertEqual({x["args"]["step"] for x in timeline.spans(what)}, {4, 8, 12}, what)
            self.assertEqual({rows[x["pid"], x["tid"]] for x in timeline.spans(what)}, {"writer"})
        self.expect_task(timeline)

    def test_a_path_that_cannot_be_written_is_told_of_before_anything_is_done(self):
        run = self.troupe("train", self.job, "--set", "output.directory=run", "--trace", "none/t.json", code=73)
        self.assertIn("none/t.json", run.stderr)
        self.assertFalse((self.folder / "run" / "summary.json").exists())

    # ---- Several

    def launch(self, *arguments):
        self.write("cluster.toml", cluster_text(nodes_on_loopback([(1, 1), (1, 1)]), job="job.toml"))
        return self.troupe("launch", "cluster.toml", "--overwrite", *arguments)

    def test_launch_merges_what_its_nodes_recorded(self):
        said = self.launch("--trace", "run.json").stderr
        timeline = Timeline(self.folder / "run.json")
        self.assertEqual(sorted(timeline.names("process_name").values()), ["left", "main"])
        self.expect_task(timeline)
        pairs = self.expect_flows(timeline, from_begin=False)
        between = [pair for pair in pairs if pair[0]["pid"] != pair[1]["pid"]]
        self.assertGreaterEqual(len(between), 2 * STEPS, "gradients and parameters, both ways")
        self.assertIn(f"{len({out['id'] for out, _ in pairs})} messages are seen at both ends", said)
        self.assertNotIn("before they were sent", said)
        self.assertNotIn("run.json.", said, "a node's own file is gone by now")
        rows = timeline.names("thread_name")
        self.assertLessEqual({"link to main", "link to left", "link to the director", "director's link to left",
                              "links", "director's links"}, set(rows.values()))
        for what, least in (("send piece", 2 * STEPS), ("receive piece", 2 * STEPS)):
            spans = [x for x in timeline.spans(what) if rows[x["pid"], x["tid"]].startswith("link to ")]
            self.assertGreaterEqual(len(spans), least, what)
            self.assertEqual({x["args"]["step"] for x in spans} & set(range(STEPS)), set(range(STEPS)))
        self.assertEqual([x.name for x in self.folder.glob("run.json.*")], [])

    def test_files_of_other_runs_are_not_merged(self):
        self.train("one", more=["--trace", "one.json"])
        self.train("two", "job.seed=2", more=["--trace", "two.json"])
        run = self.troupe("trace", "merge", "one.json", "two.json", "-o", "out.json", code=65)
        self.assertIn("of another job", run.stderr)
        self.assertFalse((self.folder / "out.json").exists())

    # ---- Hashes

    def hashes(self, directory):
        rows = rows_of_csv(self.folder / directory / "history.csv")
        return [(row["parameters_hash"], row["state_hash"]) for row in rows]

    def test_each_row_has_the_hash_of_its_version_whoever_trained_it(self):
        self.train("one", "training.replicas=1", "runtime.threads=1")
        expected = self.hashes("one")
        self.assertEqual(len(expected), 2)
        for one in expected:
            for text in one:
                self.assertTrue(re.fullmatch("[0-9a-f]{32}", text), text)
        self.assertEqual(len({text for one in expected for text in one}), 4)
        self.train("four", "training.replicas=4", "runtime.threads=3")
        self.assertEqual(self.hashes("four"), expected)
        self.train("resumed", "training.epochs=1", "checkpoint.every_steps=4")
        self.train("resumed", "checkpoint.every_steps=4", more=["--resume"])
        self.assertEqual(self.hashes("resumed"), expected)
        self.launch("--set", "output.directory=launched")
        self.assertEqual(self.hashes("launched"), expected)

    def test_compare_names_the_first_version_that_differs(self):
        self.train("one")
        self.train("other", "training.replicas=2")
        self.train("decayed", "optimizer.schedule.kind=step", "optimizer.schedule.steps=8")
        same, different = self.result_of("compare", "one", "other", "decayed")["bits"]
        self.assertEqual(same["state"], "equal")
        self.assertEqual((different["state"], different["equal_until"], different["differ_from"]),
                         ("differ", 6, 12))
        self.assertEqual(different["evidence"], "hash")


if __name__ == "__main__":
    main()
