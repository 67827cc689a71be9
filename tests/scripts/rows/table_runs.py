"""What tests of tables have in common: jobs written from Python."""

import json
import sys

sys.path.insert(0, f"{sys.path[0]}/..")
from command import SOURCE, CommandTest


def csv_text(rows):
    names = list(rows[0])
    return "\n".join([",".join(names)] + [",".join(str(row[name]) for name in names) for row in rows]) + "\n"


class TableRuns(CommandTest):
    def write_job(self, name, **sections):
        self.write(name + ".toml", "".join(
            f"[{section}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())
            for section, keys in sections.items()))

    def train(self, name, code=0, **sections):
        """The summary, or what is told of an error."""
        self.write_job(name, **sections)
        result = self.result_of("train", name + ".toml", "--quiet", "--overwrite", "--set",
                                f"output.directory={name}", code=code)
        return result["error"] if code else result

    def evaluate(self, *words):
        return self.result_of("evaluate", *words)

    def predicted(self, name, file):
        return self.troupe("predict", f"{name}/model.safetensors", file).stdout

    def tensors_and_metadata(self, name):
        sys.path.insert(0, str(SOURCE / "tests" / "reference"))
        import model_file
        return model_file.load(str(self.folder / name / "model.safetensors"))
