"""What tests of tables have in common: a folder of their own, jobs written from Python, and the command."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from patience import HANG

BUILD, SOURCE = (Path(x).resolve() for x in sys.argv[1:3])
TROUPE = BUILD / "bin" / "troupe"


def csv_text(rows):
    names = list(rows[0])
    return "\n".join([",".join(names)] + [",".join(str(row[name]) for name in names) for row in rows]) + "\n"


class TableRuns(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")

    def troupe(self, *words, code=0):
        run = subprocess.run([TROUPE, *words], cwd=self.folder, capture_output=True, text=True, timeout=HANG, check=False)
        self.assertEqual(run.returncode, code, run.stdout + run.stderr)
        return run

    def write_job(self, name, **sections):
        self.write(name + ".toml", "".join(
            f"[{section}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())
            for section, keys in sections.items()))

    def train(self, name, code=0, **sections):
        """The summary, or what is told of an error."""
        self.write_job(name, **sections)
        run = self.troupe("train", name + ".toml", "--json", "--quiet", "--overwrite", "--set",
                          f"output.directory={name}", code=code)
        result = json.loads(run.stdout)
        return result["error"] if code else result

    def evaluate(self, *words):
        return json.loads(self.troupe("evaluate", *words, "--json").stdout)

    def predicted(self, name, file):
        return self.troupe("predict", f"{name}/model.safetensors", file).stdout

    def tensors_and_metadata(self, name):
        sys.path.insert(0, str(SOURCE / "tests" / "reference"))
        import model_file
        return model_file.load(str(self.folder / name / "model.safetensors"))


def main():
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
