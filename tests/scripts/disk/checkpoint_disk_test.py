"""Checkpoints and run directories on real disks: full, read-only, damaged, shared, and writers that
are killed.

    python3 tests/scripts/disk/checkpoint_disk_test.py BUILD_FOLDER SOURCE_FOLDER

The full and the read-only disk are small ones in memory, mounted where nobody else sees them
(unshare --mount); these tests are skipped where that is not permitted.
"""

import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, f"{sys.path[0]}/..")
from command import BUILD, TROUPE, CommandTest, finished, main

WRITER = str(BUILD / "bin" / "checkpoint_writer")
PARAMETERS = 400_000  # 3.2 MB a checkpoint: two fit on 8 MiB, three do not
MODEL = "--set model.kind=neural-network --set model.hidden=[256,256]"
MODEL_BYTES = 4 * (4 * 256 + 256 + 256 * 256 + 256 + 256 + 1)  # or a few more
JOB = """[data]
synthetic = "classification"
rows = 64
features = 4
[training]
replicas = 1
"""


def run(*command, **options):
    return finished(*command, code=None, **options)


def unshare():
    """The command that gives its child mounts of its own; None where that is not permitted."""
    for options in (["--mount"], ["--mount", "--map-root-user"]):
        command = ["unshare", *options]
        probe = [*command, "mount", "-t", "tmpfs", "none", "/mnt"]
        try:
            if run(*probe).returncode == 0:
                return command
        except FileNotFoundError:
            return None
    return None


class WithFolder(CommandTest):
    def setUp(self):
        super().setUp()
        self.write("tiny.toml", JOB)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def latest(self, parameters=PARAMETERS):
        """(version, names of skipped files) of the newest checkpoint, whose content is checked."""
        found = finished(WRITER, "latest", self.folder, str(parameters))
        version = re.search(r"^found (\d+)$", found.stdout, re.M)
        skipped = re.findall(r"^skipped .*(checkpoint-\d+\.troupe): ", found.stdout, re.M)
        return int(version[1]) if version else None, skipped

    def write_checkpoints(self, first, last, parameters=PARAMETERS):
        finished(WRITER, "write", self.folder, str(parameters), str(first), str(last))

    def file_of(self, version):
        return self.path(f"checkpoint-{version:012}.troupe")


class SmallDisks(WithFolder):
    def setUp(self):
        super().setUp()
        self.unshare = unshare()
        if not self.unshare:
            self.skipTest("mounting is not permitted here: needs root or user namespaces")

    def on_disk(self, options, script):
        mount = f'mount -t tmpfs -o {options} none "$1" || exit 99\n'
        return run(*self.unshare, "sh", "-c", mount + script, "sh", self.path(), WRITER,
                   str(PARAMETERS), TROUPE)

    def test_a_full_disk_costs_no_checkpoint(self):
        result = self.on_disk("size=8m", '''
            "$2" write "$1" "$3" 1 3; echo "exit $?"
            ls "$1"
            "$2" latest "$1" "$3"''')
        self.assertEqual(result.stdout.split("\n")[:6], [
            "written 1", "written 2", "exit 74",
            "checkpoint-000000000001.troupe", "checkpoint-000000000002.troupe", "found 2"])
        said = re.search(r"^(\S+): cannot write the file \(No space left on device\): "
                         r"(\d+) bytes needed, (\d+) available; ", result.stderr)
        self.assertTrue(said, result.stderr)
        self.assertEqual(said[1], self.file_of(3))
        self.assertGreater(int(said[2]), 8 * PARAMETERS)
        self.assertLess(int(said[3]), int(said[2]))

    def test_room_for_the_model_is_looked_for_before_training(self):
        result = self.on_disk("size=64k", f'''
            cd "$1"
            printf '%s' '{JOB}' | "$4" train /dev/stdin {MODEL} --set job.name=never
            echo "exit $?"
            ls''')
        self.assertEqual(result.stdout, "exit 74\n")  # and nothing is left
        said = re.search(r"runs/never/model.safetensors: cannot reserve room for the file .*: "
                         r"(\d+) bytes needed, (\d+) available\n  hint: free some space",
                         result.stderr)
        self.assertTrue(said, result.stderr)
        self.assertGreater(int(said[1]), MODEL_BYTES)
        self.assertLess(int(said[2]), int(said[1]))
        self.assertNotIn("Epoch", result.stderr)

    def test_a_disk_that_fills_up_while_training_does_not_cost_the_model(self):
        result = self.on_disk("size=1m", f'''
            cd "$1"
            printf '%s' '{JOB}' > job.toml
            "$4" train job.toml {MODEL} --set training.epochs=1000000000 --json \\
              > /dev/null 2> said & pid=$!
            until grep -q "Epoch " said; do sleep 0.02; done
            exec 2> /dev/null
            while head -c 4096 /dev/zero >> other; do :; done
            kill -TERM $pid
            wait $pid; echo "exit $?"
            ls runs/job
            rm other
            "$4" inspect runs/job/model.safetensors > inspected; echo "inspected $?"''')
        self.assertIn("exit 74\n", result.stdout)
        self.assertIn("model.safetensors\n", result.stdout)
        self.assertNotIn("summary.json", result.stdout)
        self.assertTrue(result.stdout.endswith("inspected 0\n"), result.stdout)

    def test_a_disk_without_room_for_a_stops_checkpoint_costs_a_warning(self):
        result = self.on_disk("size=700k", f'''
            cd "$1"
            printf '%s' '{JOB}' > job.toml
            "$4" train job.toml {MODEL} --set optimizer.kind=adam --set optimizer.learning_rate=0.001 \\
              --set training.epochs=1000000000 --flight off --json > out 2> said & pid=$!
            until grep -q "Epoch " said; do sleep 0.02; done
            kill -TERM $pid
            wait $pid; echo "exit $?"
            ls runs/job
            grep stopped_by runs/job/summary.json
            "$4" train job.toml {MODEL} --set optimizer.kind=adam --set optimizer.learning_rate=0.001 \\
              --set training.epochs=1000000000 --flight off --resume > out; echo "again $?"
            cat said >&2''')
        self.assertIn("exit 143\n", result.stdout, result.stderr)
        self.assertIn("model.safetensors\n", result.stdout)
        self.assertIn('"interrupt"', result.stdout)
        self.assertNotIn("checkpoint-", result.stdout)
        self.assertIn("again 73\n", result.stdout)
        self.assertRegex(result.stderr, "warning: where the run is stopped no checkpoint can be written: .*No space left on device")
        self.assertRegex(result.stderr, r"troupe: warning: there is no checkpoint of step \d+: --resume cannot go on\n")

    def test_a_full_disk_is_not_filled_by_the_flight_recorder(self):
        result = self.on_disk("size=2m", f'''
            memory=$(mktemp -d)
            cd "$1"
            printf '%s' '{JOB}' > job.toml
            "$4" train job.toml {MODEL} --set checkpoint.every_steps=1 --set checkpoint.keep=9 --flight "$memory"
            echo "exit $?"
            ls runs/job "$memory"
            rm -r "$memory"''')
        self.assertIn("exit 74\n", result.stdout, result.stderr)
        self.assertNotIn("flight-", result.stdout)
        self.assertRegex(result.stdout, r"troupe-\S+\.flight")
        self.assertRegex(result.stderr, r"recorder  \S+\.flight ")

    def test_a_read_only_disk_is_refused_before_training(self):
        for key in ("output.directory", "checkpoint.directory"):
            result = self.on_disk("ro", f'''
                cd "${{TMPDIR:-/tmp}}"
                printf '%s' '{JOB}' | "$4" train /dev/stdin --set {key}="$1"/run \\
                  --set job.name=never''')
            self.assertEqual(result.returncode, 77, result.stderr)
            self.assertIn(self.path("run"), result.stderr)
            self.assertIn(key, result.stderr)
            self.assertNotIn("Epoch", result.stderr)


class DamagedFiles(WithFolder):
    def test_the_one_before_is_used_and_the_damaged_one_named(self):
        chance = random.Random(11)
        self.write_checkpoints(1, 2)
        whole = Path(self.file_of(2)).read_bytes()
        for _ in range(30):
            damaged = bytearray(whole)
            if chance.random() < 0.5:
                damaged = damaged[:chance.randrange(len(whole))]
            else:
                damaged[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
            Path(self.file_of(2)).write_bytes(damaged)
            self.assertEqual(self.latest(), (1, ["checkpoint-000000000002.troupe"]))
        os.truncate(self.file_of(1), 1000)
        self.assertEqual(run(WRITER, "latest", self.folder, str(PARAMETERS)).returncode, 65)

    def test_a_killed_writer_leaves_whole_checkpoints(self):
        """The newest is never older than the last that was reported, and nothing is in its way."""
        chance = random.Random(5)
        parameters, first, cut_short = 50_000, 1, 0
        self.write_checkpoints(1, 1, parameters)
        for _ in range(100):
            writer = subprocess.Popen(
                [WRITER, "write", self.folder, str(parameters), str(first), str(first + 1000)],
                stdout=subprocess.PIPE, text=True)
            time.sleep(chance.random() * 0.05)
            writer.kill()
            reported = re.findall(r"^written (\d+)$", writer.communicate()[0], re.M)
            cut_short += any(name.endswith(".tmp") for name in os.listdir(self.folder))
            version, skipped = self.latest(parameters)
            self.assertEqual(skipped, [])
            self.assertGreaterEqual(version, int(reported[-1]) if reported else first - 1)
            names = sorted(os.listdir(self.folder))
            self.assertFalse([name for name in names if name.endswith(".tmp")], names)
            first = version + 1
        self.assertGreater(cut_short, 0, "no writer was killed while it wrote")


class SharedFolders(WithFolder):
    def test_two_processes_cannot_share_a_run_directory(self):
        first = subprocess.Popen(
            [TROUPE, "train", "tiny.toml", "--set", "training.epochs=1000000000",
             "--set", "checkpoint.directory=safe"],
            cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            first.stderr.readline()  # it has what it needs, and says what it does
            for options in ([], ["--overwrite"], ["--resume"]):
                second = self.troupe("train", "tiny.toml", *options, code=73)
                self.assertIn(f"the run directory is in use by process {first.pid}", second.stderr)
            second = self.troupe("train", "tiny.toml", "--set", "output.directory=other", "--set",
                                 "checkpoint.directory=safe", code=73)
            self.assertIn(f"the checkpoint directory is in use by process {first.pid}",
                          second.stderr)
        finally:
            first.send_signal(signal.SIGKILL)
            first.stderr.close()
            first.wait()
        self.troupe("train", "tiny.toml", "--resume", "--set", "training.epochs=2")


if __name__ == "__main__":
    main()
