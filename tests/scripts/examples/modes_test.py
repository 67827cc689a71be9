"""The examples of training modes keep what they promise.

    python3 tests/scripts/examples/modes_test.py BUILD_FOLDER SOURCE_FOLDER
"""

import gzip
import json
import os
import sys

sys.path.insert(0, f"{sys.path[0]}/..")
from command import SOURCE, CommandTest, main, rows_of_csv, sets_of


class Modes(CommandTest):
    def run_troupe(self, example, *settings, options=("--json",), environment=(), code=0):
        return self.troupe("train", SOURCE / "examples" / example, "--quiet", "--overwrite", *options,
                           *sets_of(settings), code=code, env={**os.environ, **dict(environment)})

    def train(self, example, *settings):
        return json.loads(self.run_troupe(example, *settings).stdout)

    def test_asynchronous_modes_learn_and_say_that_they_do_not_repeat(self):
        for setting in ('"asynchronous"', "{ staleness = 2 }", "{ staleness = 0 }", "{ first = 1 }",
                        "{ first = 2 }", "{ lag = 1.5 }"):
            with self.subTest(consistency=setting):
                result = self.train("async.toml", f"training.consistency={setting}")
                self.assertGreaterEqual(result["test_accuracy"], 0.95)
                self.assertIs(result["reproducible"], False)
                self.assertEqual(sum(x["results"] for x in result["trainers"]), result["steps"])

    def test_the_example_of_bounded_staleness_learns(self):
        self.assertGreaterEqual(self.train("stale.toml")["test_accuracy"], 0.95)

    def test_local_training_repeats_its_bits_whoever_computes(self):
        hashes = set()
        for replicas in (1, 2, 4):
            result = self.train("local_sgd.toml", f"training.replicas={replicas}",
                                f"runtime.threads={min(replicas, 2)}")
            self.assertGreaterEqual(result["test_accuracy"], 0.95)
            self.assertIs(result["reproducible"], True)
            hashes.add(result["parameters_sha256"])
        self.assertEqual(len(hashes), 1, hashes)

    def test_averages_of_rounds_are_as_good_as_the_last_model(self):
        for averaging in ("mean", "exponential"):
            result = self.train("local_sgd.toml", f"merge.averaging={averaging}")
            self.assertGreaterEqual(result["test_accuracy"], 0.95, averaging)

    def test_the_mean_fails_where_median_and_krum_hold(self):
        for settings in ([], ["merge.rule=krum", "merge.faulty_count=1"]):
            result = self.train("byzantine.toml", *settings)
            self.assertGreaterEqual(result["test_accuracy"], 0.95, settings)
        spoiled = self.run_troupe("byzantine.toml", "merge.rule=average", code=None)
        if spoiled.returncode == 0:
            self.assertLess(json.loads(spoiled.stdout)["test_accuracy"], 0.5)
        else:
            self.assertEqual(spoiled.returncode, 1, spoiled.stderr)
            self.assertEqual(json.loads(spoiled.stdout)["error"]["code"], "diverged")

    def test_federated_rounds_repeat_their_bits_and_learn_in_spite_of_drop_outs(self):
        hashes = set()
        for replicas in (1, 2, 3):
            result = self.train("federated_digits.toml", f"training.replicas={replicas}",
                                f"runtime.threads={min(replicas, 2)}")
            self.assertGreaterEqual(result["test_accuracy"], 0.93)
            self.assertIs(result["reproducible"], True)
            hashes.add(result["parameters_sha256"])
        self.assertEqual(len(hashes), 1, hashes)
        self.assertEqual(result["clients"]["rounds"], result["steps"])
        rounds = rows_of_csv(self.folder / "runs" / "federated_digits" / "rounds.csv")
        self.assertEqual([int(x["round"]) for x in rounds], list(range(1, result["steps"] + 1)))
        self.assertEqual(sum(int(x["counted"]) for x in rounds), result["clients"]["updates"])
        self.assertEqual(sum(int(x["rows"]) for x in rounds), result["samples"])
        dropped = sum(int(x["dropped"]) for x in rounds) / sum(int(x["invited"]) for x in rounds)
        self.assertAlmostEqual(dropped, 0.3, delta=0.05)

    def test_clients_that_work_against_the_others_spoil_the_mean_alone(self):
        for rule in ([], *(["merge.faulty_count=3", f"merge.rule={name}"]
                           for name in ("krum", "multi-krum"))):
            result = self.train("federated_byzantine.toml", *rule)
            self.assertGreaterEqual(result["test_accuracy"], 0.90, rule)
        spoiled = self.run_troupe("federated_byzantine.toml", "merge.rule=weighted", code=None)
        if spoiled.returncode == 0:
            self.assertLess(json.loads(spoiled.stdout)["test_accuracy"], 0.6)
            self.assertGreater(json.loads(spoiled.stdout)["test_loss"], 1000)
        else:
            self.assertIn(spoiled.returncode, (1, 69), spoiled.stderr)

    def write_owned_digits(self):
        """The digits with a column of 60 users, sorted by it, and the same rows in a file a user."""
        with gzip.open(SOURCE / "examples" / "data" / "digits.csv.gz", "rt", encoding="utf-8") as file:
            lines = file.read().splitlines()
        owned = {}
        for i, line in enumerate(lines):
            owned.setdefault(f"u{i * 7 % 60:02}", []).append(line)
        columns = ",".join(f"p{j}" for j in range(64))
        (self.folder / "clients").mkdir()
        for user, rows in owned.items():
            self.write(f"clients/{user}.csv", f"{columns},digit\n" + "\n".join(rows) + "\n")
        self.write("rows.csv", f"user,{columns},digit\n" + "".join(
            f"{user},{row}\n" for user, rows in sorted(owned.items()) for row in rows))

    def write_job(self, name, data, partition):
        return self.write(name, f"""
[job]
seed = 6
[data]
{data}
test_fraction = 0.25
standardize = true
[model]
hidden = [32]
[optimizer]
kind = "sgd"
learning_rate = 0.1
[training]
strategy = "federated"
batch_size = 8
[federated]
partition = {partition}
evaluate_clients = true
rounds = 30
local_epochs = 2
""")

    def test_natural_clients_are_those_of_a_column_or_of_files(self):
        self.write_owned_digits()
        by_column = self.write_job("by_column.toml", 'file = "rows.csv"', '{ column = "user" }')
        by_files = self.write_job("by_files.toml", "", '{ files = "clients/*.csv" }')
        hashes, figures = set(), []
        for job in (by_column, by_files):
            for replicas in (1, 3):
                result = self.train(job, f"training.replicas={replicas}")
                self.assertGreaterEqual(result["test_accuracy"], 0.9)
                hashes.add(result["parameters_sha256"])
                figures.append(result["client_figures"])
        self.assertEqual(len(hashes), 1, "the same rows, in the same order, are the same clients'")
        self.assertEqual(figures, [figures[0]] * 4)
        self.assertEqual(figures[0]["clients"], 60)
        self.assertEqual(figures[0]["rows"], 449)
        # What a run wrote down trains the same; so do two nodes.
        again = self.train(os.path.join(self.folder, "runs", "by_files", "job.toml"),
                           "output.directory=again")
        self.assertEqual({again["parameters_sha256"]}, hashes)
        self.write("cluster.toml", 'job = "by_files.toml"\n[output]\ndirectory = "two"\n'
                   '[[node]]\nname = "main"\naddress = "127.0.0.1:0"\ndirector = true\n'
                   '[[node]]\nname = "other"\naddress = "127.0.0.1:0"\nreplicas = 2\nshards = 0\n')
        result = self.result_of("launch", "cluster.toml", "--quiet")
        self.assertEqual({result["parameters_sha256"]}, hashes)
        self.assertEqual(result["client_figures"], figures[0])

    def test_natural_clients_that_are_not_there_are_refused_by_key(self):
        self.write_owned_digits()
        by_column = self.write_job("by_column.toml", 'file = "rows.csv"', '{ column = "user" }')
        for setting, code, said in (
                ("federated.clients=61", 78, "federated.clients': the training rows are those of 60"),
                ("federated.cohort=61", 78, "federated.cohort': a round takes 61 of 60 clients"),
                ('federated.partition={ column = "usr" }', 65, "there is no column 'usr'"),
                ("data.test_fraction=0", 78, "federated.evaluate_clients': there are no test rows")):
            self.assertIn(said, self.run_troupe(by_column, setting, code=code).stderr)
        nobody = self.write_job("nobody.toml", "", '{ files = "nobody/*.csv" }')
        self.assertIn("nobody/*.csv", self.run_troupe(nobody, code=66).stderr)

    def test_statistics_are_a_table(self):
        run = self.run_troupe("local_sgd.toml", options=("--stats",))
        self.assertIn("\nreplica  results  last", run.stdout)
        alone = self.run_troupe("least-squares.toml", options=("--stats",))
        self.assertIn("nobody waits", alone.stderr)

    def test_statistics_of_replicas_in_step_name_the_last_of_each(self):
        settings = ("training.epochs=2", "training.replicas=2")
        run = self.run_troupe("digits.toml", *settings, options=("--stats",))
        self.assertRegex(run.stdout, r"\nreplica +results +last +by ms +most ms +waited ms "
                                     r"+computed ms +network ms\n +0 +\d+ .*\n +1 +\d+ .*\n$")
        result = self.train("digits.toml", *settings)
        replicas = result["trainers"]
        self.assertEqual([one["results"] for one in replicas], [result["steps"]] * 2)
        self.assertEqual(sum(one["last_count"] for one in replicas), result["steps"])
        for one in replicas:
            self.assertGreater(one["computed_ms"], 0)
            self.assertLessEqual(one["last_by_max_ms"], one["last_by_ms"])

    def train_on(self, row, example, *settings, expected_code=0):
        run = self.run_troupe(example, "data.test_fraction=0", "data.validation_fraction=0", *settings,
                              environment={"TROUPE_TEST_CRASHING_ROW": f"{row} throws"}, code=expected_code)
        return json.loads(run.stdout), run.stderr

    def test_work_that_ends_whoever_has_it_is_left_out(self):
        result, said = self.train_on(17, "async.toml", "training.replicas=7", "training.epochs=2")
        self.assertEqual(len(result["left_out"]), 2, said)  # once an epoch
        for one in result["left_out"]:
            self.assertRegex(one, r"^step \d+: rows .*\b17\b.* of ")
        self.assertEqual(result["replicas_lost"], 6)

    def test_a_round_goes_on_without_a_member_that_nobody_can_train(self):
        hashes = set()
        for replicas in (3, 4):
            result, said = self.train_on(17, "local_sgd.toml", f"training.replicas={replicas}",
                                         "runtime.attempts=2", "training.epochs=1")
            self.assertEqual(len(result["left_out"]), 1, said)
            self.assertRegex(result["left_out"][0], r"^member \d in steps \d+ to \d+: rows ")
            hashes.add(result["parameters_sha256"])
        self.assertEqual(len(hashes), 1)

    def test_too_little_that_is_left_ends_the_run_by_name(self):
        result, _ = self.train_on(17, "async.toml", "training.replicas=3", "training.epochs=1",
                                  "runtime.attempts=2", 'training.batch_size="all"', expected_code=65)
        self.assertRegex(result["error"]["what"], "nothing is left of the epoch: step 0: rows ")

    def test_what_is_not_built_is_refused_by_name(self):
        self.assertIn("optimizer.kind", self.run_troupe("local_sgd.toml", "optimizer.kind=lbfgs", code=78).stderr)


if __name__ == "__main__":
    main()
