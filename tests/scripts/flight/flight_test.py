"""The flight recorder: of a process that is killed, `troupe trace show` tells what its actors did last.

    python3 tests/scripts/flight/flight_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...
"""

import json
import os
import signal
import sys

sys.path.insert(0, f"{sys.path[0]}/..")
from cluster_run import child_of, cluster_text, nodes_on_loopback
from command import JOB, TROUPE, CommandTest, main
from patience import HANG, wait_until

LONG = ["--set", "training.epochs=1000000", "--set", "output.directory=run"]
SHORT = ["--set", "training.epochs=2", "--set", "output.directory=run"]
KILLED_AFTER = 200  # steps


class Flights(CommandTest):
    def setUp(self):
        super().setUp()
        self.memory = self.folder / "memory"
        self.memory.mkdir()
        self.write("cluster.toml", cluster_text(nodes_on_loopback([(1, 1), (1, 1), (1, 1)])))

    def start(self, *more):
        run = super().start(TROUPE, *more, f"--flight={self.memory}")
        self.addCleanup(self.leave, run)
        return run

    def leave(self, run):
        if run.poll() is None:
            run.kill()
        run.communicate(timeout=HANG)

    def run_it(self, *more, **how):
        return self.troupe(*more, f"--flight={self.memory}", **how)

    def show(self, file, *more, **how):
        return self.troupe("trace", "show", file, *more, **how)

    def log(self, file):
        return json.loads(self.show(file, "--json").stdout)

    def files(self):
        return sorted(self.memory.glob("*.flight"))

    def file_of(self, name):
        """Of a process that lives; not while it is being made."""
        return next((x for x in self.files() if x.name.startswith(f"troupe-{name}-") and
                     x.open("rb").read(8).strip(b"\0")), None)

    def newest_step(self, log):
        return max((record["step"] for actor in log["actors"] for record in actor["records"]),
                   default=0)

    def wait_for_step(self, name, step):
        """Its file is read while it lives."""
        def has_come():
            file = self.file_of(name)
            return file and self.newest_step(self.log(file)) >= step
        wait_until(has_come, lambda: f"{name} has not come to step {step}")
        return self.log(self.file_of(name))

    def expect_last_work(self, log, before, name):
        """Of a process that was killed after `before` was read of it."""
        self.assertEqual((log["process"], log["job"]), (name, "digits"))
        self.assertEqual(log["run_directory"], str(self.folder / "run"))
        self.assertEqual(log["process_id"], before["process_id"])
        self.assertEqual(len(log["job_sha256"]), 64)
        self.assertFalse(log["is_cut"])
        self.assertGreater(log["last_sign_seconds"], 0)
        self.assertGreaterEqual(self.newest_step(log), self.newest_step(before))
        actors = {actor["actor"]: actor["records"] for actor in log["actors"]}
        self.assertLessEqual({"replica 0", "shard 0"}, set(actors))
        for actor, work in (("replica 0", "slice"), ("shard 0", "add and update")):
            words = [record["what"] for record in actors[actor]]
            self.assertIn(work, words)
            self.assertTrue([x for x in words if x.startswith("receive ")], words[:20])
            self.assertTrue([x for x in words if x.startswith("send ")], words[:20])
            # Newest first; one is under way at most, and none that another followed.
            steps = [record["step"] for record in actors[actor] if record["what"] == work]
            self.assertEqual(steps, sorted(steps, reverse=True))
            open_ones = [i for i, x in enumerate(r for r in actors[actor] if r["what"] == work)
                         if x["under_way"]]
            self.assertIn(open_ones, ([], [0]))

    # ---- Processes that are killed

    def test_of_each_process_that_launch_started_and_that_is_killed_the_run_has_the_last_work(self):
        for name in ("left", "main"):
            with self.subTest(name):
                run = self.start("launch", "cluster.toml", "--overwrite", *LONG)
                before = self.wait_for_step(name, KILLED_AFTER)
                os.kill(child_of(run.pid, name), signal.SIGKILL)
                if name != "main":  # the others go on: the run is ended as users do
                    self.wait_for_step("main", self.newest_step(before) + KILLED_AFTER)
                    run.send_signal(signal.SIGINT)
                said = run.communicate(timeout=HANG)[1]
                file = self.folder / "run" / f"flight-{name}.bin"
                self.assertIn(f"recorder  {file}", said)
                self.expect_last_work(self.log(file), before, name)
                self.assertEqual(self.files(), [], "what others left, or this one")

    def test_a_run_that_is_killed_is_taken_in_by_the_next_one(self):
        run = self.start("train", JOB, *LONG)
        before = self.wait_for_step("local", KILLED_AFTER)
        run.kill()
        run.wait(HANG)
        self.assertEqual(len(self.files()), 1)
        said = self.run_it("train", JOB, "--overwrite", *SHORT).stderr
        file = self.folder / "run" / "flight-local.bin"
        self.assertIn(f"recorder  {file}", said)
        self.expect_last_work(self.log(file), before, "local")
        self.assertEqual(self.files(), [])
        self.run_it("train", JOB, "--overwrite", *SHORT)
        self.assertFalse(file.exists(), "it is a file of the run that is replaced")

    def test_a_node_that_starts_again_says_where_the_file_of_its_life_before_is(self):
        nodes = ("main", "left", "right")
        runs = {name: self.start("node", "cluster.toml", "--name", name, *LONG) for name in nodes}
        before = self.wait_for_step("left", KILLED_AFTER)
        file = self.file_of("left")
        runs["left"].kill()
        runs["left"].wait(HANG)
        again = self.start("node", "cluster.toml", "--name", "left", *LONG)
        self.assertIn(f"recorder  {file}", again.stderr.readline())
        self.expect_last_work(self.log(file), before, "left")

    # ---- Processes that end

    def test_a_good_end_leaves_nothing(self):
        self.run_it("launch", "cluster.toml", *SHORT)
        self.assertEqual(self.files(), [])
        self.assertEqual(list((self.folder / "run").glob("flight*")), [])
        run = self.start("train", JOB, "--overwrite", *LONG)
        self.wait_for_step("local", 1)
        run.send_signal(signal.SIGTERM)
        self.assertEqual(run.wait(HANG), 143)
        self.assertEqual(self.files(), [], "it was told to end")

    def test_a_run_that_fails_keeps_what_its_actors_did_last(self):
        for row in range(100, 140):  # some rows are kept for the test, and nobody reads them
            environment = {**os.environ, "TROUPE_TEST_CRASHING_ROW": f"{row} throws"}
            run = self.run_it("train", JOB, "--overwrite", *SHORT, code=None, env=environment)
            if run.returncode != 0:
                break
        file = self.folder / "run" / "flight-local.bin"
        self.assertIn(f"recorder  {file}", run.stderr)
        newest = {x["actor"]: x["records"][0] for x in self.log(file)["actors"] if x["records"]}
        self.assertIn("slice", [x["what"] for x in newest.values()])
        self.assertEqual(self.files(), [])

    def test_a_job_that_cannot_begin_leaves_nothing(self):
        self.run_it("train", JOB, *SHORT, "--set", "data.file=none.csv", code=66)
        self.assertEqual(self.files(), [])

    # ---- Whether there is one

    def test_a_folder_that_cannot_be_used_is_a_warning_and_nothing_changes(self):
        plain = self.run_it("train", JOB, *SHORT, "--json")
        self.memory = self.folder / "none"
        told = self.run_it("train", JOB, *SHORT, "--overwrite", "--json")
        self.assertIn("no flight recorder is kept", told.stderr)
        self.assertIn("--flight", told.stderr)
        self.memory = "off"
        off = self.run_it("train", JOB, *SHORT, "--overwrite", "--json")
        self.assertNotIn("recorder", off.stderr)
        hashes = {json.loads(x.stdout)["parameters_sha256"] for x in (plain, told, off)}
        self.assertEqual(len(hashes), 1)

    # ---- What is shown

    def test_what_people_see(self):
        run = self.start("train", JOB, *LONG)
        self.wait_for_step("local", KILLED_AFTER)
        run.kill()
        run.wait(HANG)
        [file] = self.files()
        text = self.show(file, "--records", "5").stdout
        self.assertIn(f"process   local ({run.pid}) of job digits", text)
        section = text[text.index("\nreplica 0: "):].strip().split("\n\n")[0].splitlines()
        self.assertEqual(len(section), 6, section)
        self.assertRegex(section[1], r"^ +\d+\.\d s  (slice|receive|send|evaluate)")
        whole = file.read_bytes()
        damaged = self.folder / "damaged.flight"
        damaged.write_bytes(whole[:1000])
        self.assertIn("only 1000 bytes", self.show(damaged, code=65).stderr)
        damaged.write_bytes(b"{}" + whole[2:])
        self.assertIn("no flight recorder's file", self.show(damaged, code=65).stderr)
        damaged.write_bytes(whole[:100_000])
        self.assertIn("cut or damaged", self.show(damaged).stdout)
        self.show("none", code=66)


if __name__ == "__main__":
    main()
