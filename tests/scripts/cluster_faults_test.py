"""Faults of real processes: the result is that of a run in which nothing happened.

    python3 tests/scripts/cluster_faults_test.py BUILD_FOLDER SOURCE_FOLDER
                                                 [TRIALS] [SEED] [TEST]...

Three `troupe node` processes train examples/digits.toml. When progress shows an epoch that is drawn
from 5 to 95 % of the run, one of them is killed, or stands still for a while. TRIALS (1) of each
fault and placement, drawn from SEED (printed); a single freeze in one placement only. With more
than one trial the run is four times as long, more than 5 s. A fault that came too late to be one is
counted and repeated.

The last lines say how long it took from a fault until the director knew of it, and until an epoch
was trained after it. These times are held against their bounds when the machine had nothing else
to do.
"""

import os
import random
import signal
import statistics
import sys
import time
import unittest
import unittest.mock

from cluster_run import (CHECKPOINT_STEPS, DIRECTOR, LOST_AFTER, PLACEMENTS, Cluster, EqualRuns, cluster_text,
                         deadly_row, nodes_on_loopback, rows_in, settings_of, timeouts, trained_alone)
from command import JOB, sets_of
from patience import HANG, SLOWNESS

TRIALS = int(sys.argv[3]) if len(sys.argv) > 3 else 1
SEED = int(sys.argv[4]) if len(sys.argv) > 4 else int(time.time())
EPOCHS = 100 if TRIALS == 1 else 400
# Of runs in which nobody is to be lost: other tests may keep this machine busy, too.
LOST_AFTER_WHEN_BUSY = LOST_AFTER if TRIALS > 1 else 2 * LOST_AFTER
# The last epoch may be finished, and what says so not read yet: on a busy machine for so long.
LATE_SECONDS = 0.1 * SLOWNESS
# After a return the others have to notice, and the next view takes its place.
RETURN_SECONDS = 2.0 * SLOWNESS


class Kill:
    """kill -9 of these processes; `restart`: each is started again, with these arguments."""

    def __init__(self, *names, restart=None, pause=0.0):
        self.names, self.restart, self.pause = names, restart, pause

    def befall(self, cluster):
        for name in self.names:
            cluster.processes[name].signal(signal.SIGKILL)

    def heal(self, cluster):
        if self.restart is None:
            return
        time.sleep(self.pause)
        for name in self.names:
            cluster.processes[name].end(HANG)
            cluster.start(name, *self.restart)

    def expect_end(self, test, cluster):
        lost, back = (self.names, ()) if self.restart is None else ((), self.names)
        test.expect_good_ends(cluster, lost=lost, away=back)


class Freeze:
    """The process stands still for so long."""

    def __init__(self, name, seconds):
        self.names, self.seconds = (name,), seconds

    def befall(self, cluster):
        cluster.processes[self.names[0]].signal(signal.SIGSTOP)

    def heal(self, cluster):
        time.sleep(self.seconds)
        self.healed_at = time.monotonic()
        cluster.processes[self.names[0]].signal(signal.SIGCONT)

    def expect_end(self, test, cluster):
        name = self.names[0]
        test.expect_good_ends(cluster, away=self.names if name != DIRECTOR else ["left", "right"])
        went_on = cluster.director().ended_at - self.healed_at > RETURN_SECONDS
        if self.seconds > LOST_AFTER and went_on and name != DIRECTOR:
            test.assertIsNotNone(cluster.director().said(f"linked with {name}",
                                                         since=self.healed_at), cluster.messages())


class Times:
    """From a fault to the director's word of it, and to an epoch trained without the lost one."""

    def __init__(self):
        self.detections, self.resumptions = [], []

    def add(self, cluster, name, fault_at):
        director = cluster.director()
        lost_at = director.said(f"the link with {name} is lost", since=fault_at)
        if lost_at is None:
            return
        self.detections.append(lost_at - fault_at)
        # The first may have been over before; the second was trained after the loss.
        epochs = [when for when, line in director.lines if when >= lost_at and "Epoch " in line]
        if len(epochs) > 1:
            self.resumptions.append(epochs[1] - fault_at)

    def text(self, what):
        def shown(values):
            return (f"median {statistics.median(values):.3f} s, at most {max(values):.3f} s"
                    if values else "none")
        return (f"{what}, {len(self.detections)} times: noticed {shown(self.detections)}; "
                f"an epoch trained after it {shown(self.resumptions)}")


class Faults(EqualRuns):
    @classmethod
    def setUpClass(cls):
        cls.random = random.Random(SEED)
        cls.counts = {"in time": 0, "too late": 0}
        cls.times = {}

    def expect_no_more_work_than_needed(self, result, cluster, lives=1):
        """`lives`: of its director, each of which counts the roll-backs of its own. Training goes on
        while a checkpoint is written: one that is not whole yet when the end comes is no help."""
        self.expect_equal(result, cluster, EPOCHS)
        self.assertLessEqual(result["steps_executed"] - result["steps"],
                             (result["rollbacks"] + lives - 1) * 2 * CHECKPOINT_STEPS)
        self.assertEqual(result["steps_again"] > 0, result["seconds_again"] > 0, result)
        lost = (result["seconds_again"] + result["seconds_still"]) / result["seconds_elapsed"]
        self.assertAlmostEqual(result["goodput"], max(0, 1 - lost), 6)
        self.assertLessEqual(lost, 1, result)
        self.assertGreaterEqual(result["seconds_elapsed"] * 1.01, result["seconds"] * (lives == 1), result)

    def play(self, placement, fault, lives=1, kind=None, lost_after=LOST_AFTER, settings=settings_of(EPOCHS)):
        """Result and cluster of a run that the fault befell in time."""
        for _ in range(40):
            nodes = nodes_on_loopback(PLACEMENTS[placement])
            text = cluster_text(nodes, settings, timeouts(lost_after, 8))
            with Cluster(text, nodes) as cluster:
                self.assertTrue(cluster.wait_for_epoch(
                    self.random.randint(EPOCHS // 20, EPOCHS * 19 // 20)), cluster.messages())
                fault_at = time.monotonic()
                director = cluster.director()
                fault.befall(cluster)
                fault.heal(cluster)
                result = cluster.result()
                self.expect_no_more_work_than_needed(result, cluster, lives)
                if director.epoch_times.get(EPOCHS, fault_at + 1) > fault_at + LATE_SECONDS:
                    self.counts["in time"] += 1
                    fault.expect_end(self, cluster)
                    if kind:
                        self.times.setdefault(kind, Times()).add(cluster, fault.names[0], fault_at)
                    return result, cluster
                self.counts["too late"] += 1
        self.fail("every fault came too late")

    def for_each_trial(self, fault, check=lambda *_: None, placements=("peer", "server"),
                       **more):
        if TRIALS == 1 and isinstance(fault, Freeze):  # they take long
            placements = [self.random.choice(list(placements))]
        for placement in placements:
            for trial in range(TRIALS):
                with self.subTest(placement=placement, trial=trial, seed=SEED):
                    check(*self.play(placement, fault, **more))

    def expect_loss_that_costs_no_step(self, result, cluster):
        self.expect_loss(result, cluster)
        self.assertEqual(result["rollbacks"], 0)
        self.assertEqual(result["steps_executed"], result["steps"])

    # F1, a worker dies: the others go on, its slices move.

    def test_killed_worker_with_a_shard(self):
        def check(result, cluster):
            self.expect_loss(result, cluster)
            self.assertEqual(result["rollbacks"], 1)
        self.for_each_trial(Kill("right"), check, kind="kill -9 of a shard and replica")

    def test_lost_parameters_cost_a_few_steps_without_any_checkpoint(self):
        """Others have copies of them: one after the other may be lost, or two at once."""
        every = 3
        for copies, names in ((1, ["right"]), (2, ["left", "right"])):
            settings = (f"[recovery]\ncopies = {copies}\ncopy_every = {every}\n[checkpoint]\nevery_steps = 0\n"
                        f"[training]\nepochs = {EPOCHS}\n")

            def check(result, cluster, most=2 * every):
                self.expect_loss(result, cluster)
                self.assertGreaterEqual(result["rollbacks"], 1)
                self.assertLessEqual(result["steps_again"], most * result["rollbacks"])
                self.assertGreater(result["bytes_by_kind"]["copy"], 0)
            self.for_each_trial(Kill(*names, restart=[]), check, ["peer"], settings=settings)

    # Who is asked to end hands over what it has.

    def expect_hand_over(self, placement, names, settings, restarts=False):
        endless = 1_000_000
        nodes = nodes_on_loopback(PLACEMENTS[placement])
        with Cluster(cluster_text(nodes, settings + settings_of(endless), timeouts(LOST_AFTER_WHEN_BUSY, 8)),
                     nodes) as cluster:
            self.assertTrue(cluster.wait_for_epoch(self.random.randint(2, EPOCHS)), cluster.messages())
            asked = [cluster.processes[name] for name in names]
            for process in asked:
                process.signal(signal.SIGTERM)
            for process in asked:
                process.end(HANG)
                self.assertEqual(process.process.returncode, 0, cluster.messages())
                self.assertIn("left on request", [line.split(maxsplit=2)[-1] for _, line in process.lines])
            for name in names if restarts else ():
                cluster.start(name)
            self.assertTrue(cluster.wait_for_epoch(max(cluster.director().epoch_times) + 20), cluster.messages())
            result = self.stopped_as_alone(cluster, epochs=endless)
            undone = {key: result[key] for key in ("steps_again", "rollbacks", "replicas_lost", "leaves")}
            self.assertEqual(undone, {"steps_again": 0, "rollbacks": 0, "replicas_lost": 0, "leaves": len(names)},
                             cluster.messages())

    def test_who_is_asked_to_end_hands_over_what_it_has_and_undoes_nothing(self):
        for placement, names, settings in (("peer", ["right"], ""), ("server", ["right"], ""),
                                           ("server", ["left"], ""),
                                           ("peer", ["left", "right"], "[recovery]\ncopies = 0\n")):
            with self.subTest(placement=placement, names=names, seed=SEED):
                self.expect_hand_over(placement, names, settings)

    def test_asked_to_end_and_started_again(self):
        self.expect_hand_over("peer", ["left", "right"], "", restarts=True)

    def test_parameters_come_to_who_has_none_with_nothing_undone(self):
        nodes = nodes_on_loopback(PLACEMENTS["peer"])
        with Cluster(cluster_text(nodes, settings_of(1_000_000), timeouts(LOST_AFTER_WHEN_BUSY)), nodes) as cluster:
            self.assertTrue(cluster.wait_for_epoch(5), cluster.messages())
            cluster.processes["right"].signal(signal.SIGTERM)
            cluster.processes["right"].end(HANG)
            cluster.start("right")
            director = cluster.director()
            self.assertTrue(cluster.wait_until(lambda: director.said("spans for right; training starts from version")),
                            cluster.messages())
            self.assertTrue(cluster.wait_for_epoch(max(director.epoch_times) + 20), cluster.messages())
            result = self.stopped_as_alone(cluster)
            self.assertEqual((result["steps_again"], result["rollbacks"], result["replicas_lost"]), (0, 0, 0))
            self.assertGreater(result["spans_by_node"]["right"], 0)

    def test_killed_worker_without_a_shard_costs_no_step(self):
        self.for_each_trial(Kill("left"), self.expect_loss_that_costs_no_step, ["server"],
                            kind="kill -9 of a replica")

    def test_killed_and_started_again(self):
        self.for_each_trial(Kill("right", restart=[]), self.expect_loss)

    def test_all_workers_killed_and_started_again(self):
        self.for_each_trial(Kill("left", "right", restart=[]), self.expect_loss)

    def test_killed_while_it_joins(self):
        for placement in PLACEMENTS:
            for trial in range(TRIALS):
                nodes = nodes_on_loopback(PLACEMENTS[placement])
                with self.subTest(placement=placement, trial=trial, seed=SEED), \
                        Cluster(cluster_text(nodes, settings_of(EPOCHS)), nodes) as cluster:
                    time.sleep(self.random.uniform(0, 0.4))
                    fault = Kill("right", restart=[])
                    fault.befall(cluster)
                    fault.heal(cluster)
                    self.expect_no_more_work_than_needed(cluster.result(), cluster)
                    fault.expect_end(self, cluster)

    def test_worker_that_starts_late_parts_nobody(self):
        # The others dial ever more seldom meanwhile, but still within the time of a loss.
        nodes = nodes_on_loopback(PLACEMENTS["peer"])
        text = cluster_text(nodes, settings_of(EPOCHS), timeouts())
        with Cluster(text, nodes, [DIRECTOR, "right"]) as cluster:
            time.sleep(3.3)
            cluster.start("left")
            result = cluster.result()
            self.expect_no_more_work_than_needed(result, cluster)
            self.expect_that_nobody_was_lost(result, cluster)

    # Rules that need the whole model: one shard owns it, or each tells the others sums over its blocks;
    # whoever owns or computes may die.

    WHOLE_MODEL_RULES = {
        "lbfgs": ['optimizer.kind="lbfgs"', "optimizer.learning_rate=1",
                  'training.batch_size="all"', "training.epochs=80",
                  "model.hidden=[96, 64]"],  # four blocks
        "adafactor": ['optimizer.kind="adafactor"', "training.epochs=40"]}

    def expect_equal_to_one_process(self, kind, shapes, killed):
        settings = self.WHOLE_MODEL_RULES[kind]
        nodes = nodes_on_loopback(shapes)
        text = cluster_text(nodes, "[checkpoint]\nevery_steps = 10\n", timeouts())
        with Cluster(text, nodes, []) as cluster:
            for node in nodes:
                cluster.start(node.name, *sets_of(settings))
            self.assertTrue(cluster.wait_for_epoch(3), cluster.messages())
            if killed:
                cluster.processes[killed].signal(signal.SIGKILL)
            result = cluster.result()
            self.assertIn("parameters_sha256", result, cluster.messages())
            expected = trained_alone(JOB, settings)
            for key in ("parameters_sha256", "job_sha256", "steps", "train_loss"):
                self.assertEqual(result[key], expected[key], cluster.messages())

    def test_whole_model_rules_have_the_bits_of_one_process(self):
        for kind, shapes, killed in [("lbfgs", [(1, 1), (1, 1), (1, 1)], "left"),
                                     ("lbfgs", [(1, 0), (1, 1), (1, 1)], "left"),
                                     ("lbfgs", [(0, 1), (1, 0), (1, 1)], None),
                                     ("adafactor", [(1, 1), (1, 1)], None)]:
            with self.subTest(kind=kind, shapes=shapes):
                self.expect_equal_to_one_process(kind, shapes, killed)

    # A row that ends whoever reads it: after three processes the run ends, and names it.

    def expect_named(self, placement, row, threads):
        nodes = nodes_on_loopback([(0, 1)] + [placement] * 4)
        text = cluster_text(nodes, settings_of(1), timeouts(LOST_AFTER_WHEN_BUSY))
        with unittest.mock.patch.dict(os.environ, {"TROUPE_TEST_CRASHING_ROW": str(row)}), \
                Cluster(text, nodes) as cluster:
            error = cluster.result()["error"]
            self.assertEqual(error["code"], "bad-data", cluster.messages())
            self.assertIn(row, rows_in(error["where"]), cluster.messages())
            # "step 3, slice 2: ..": as on threads.
            self.assertIn(error["what"].split(":")[0], threads["what"])
            codes = list(cluster.exit_codes().values())
            # One more where the machine is too busy for a process to say in time that it has the view.
            self.assertIn(codes.count(70), (3, 4), cluster.messages())
            self.assertEqual(codes.count(70) + codes.count(65), 5, cluster.messages())

    def test_row_that_ends_its_reader_is_named_after_three_losses(self):
        row, threads = deadly_row(self.folder)
        self.assertEqual(threads["code"], "internal")
        self.assertIn(row, rows_in(threads["what"]))
        for placement in [(1, 0), (1, 1)]:
            with self.subTest(placement=placement):
                self.expect_named(placement, row, threads)

    # F3, the director dies and is started again at the same port: the last complete checkpoint.

    def test_killed_director_started_again_resumes(self):
        self.for_each_trial(Kill(DIRECTOR, restart=["--resume"]), lives=2)

    def test_director_that_comes_back_late_resumes(self):
        self.for_each_trial(Kill(DIRECTOR, restart=["--resume"], pause=2 * LOST_AFTER),
                            placements=["peer"], lives=2)

    # F2, a process freezes and returns: a short pause costs nobody, a long one is a loss.

    def test_short_freeze_costs_nobody(self):
        self.for_each_trial(Freeze("right", 0.5 * LOST_AFTER_WHEN_BUSY),
                            self.expect_that_nobody_was_lost, lost_after=LOST_AFTER_WHEN_BUSY)

    def test_long_freeze_is_a_loss_and_a_return(self):
        self.for_each_trial(Freeze("right", 3 * LOST_AFTER), self.expect_loss,
                            kind="freeze of a shard and replica")

    def test_long_freeze_of_a_worker_without_a_shard_costs_no_step(self):
        def check(result, cluster):
            self.expect_loss(result, cluster)
            self.assertEqual(result["rollbacks"], 0)
        self.for_each_trial(Freeze("left", 3 * LOST_AFTER), check, ["server"],
                            kind="freeze of a replica")

    def test_director_that_freezes_leads_again(self):
        self.for_each_trial(Freeze(DIRECTOR, 3 * LOST_AFTER), placements=["peer"])


def show_times(times):
    """Times are shown and not held against anything: lines of progress come 0.25 s apart at the least, and the
    second after a fault is the first that tells of work done since."""
    for what, x in times.items():
        print(x.text(what))


if __name__ == "__main__":
    print(f"seed {SEED}, {TRIALS} trials of each", flush=True)
    run = unittest.main(argv=sys.argv[:1] + sys.argv[5:], exit=False, verbosity=2)
    if run.result.testsRun == 0:
        sys.exit(1)
    print(f"{Faults.counts['in time']} faults in the middle of a run, "
          f"{Faults.counts['too late']} came too late and were repeated")
    show_times(Faults.times)
    sys.exit(0 if run.result.wasSuccessful() else 1)
