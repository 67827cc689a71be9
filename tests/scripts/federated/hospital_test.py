"""The hospital's walk of docs/federated.md, as it is written there: files, certificates, server, wards, model.

    python3 tests/scripts/federated/hospital_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...
"""

import csv
import os
import re
import shlex
import shutil
from pathlib import Path

from client_runs import ClientRuns
from command import SOURCE, TROUPE, main

WARDS = ("north", "south")
FOR_LONG = ("train", "client")  # these run beside what follows, until a command of the hub needs what they leave


def walk():
    """The files by name, and the commands: where each is typed, and its words."""
    text = Path(SOURCE, "docs", "federated.md").read_text(encoding="utf-8")
    section = text.split("### A hospital's walk")[1].split("\n### ")[0]
    blocks = re.findall(r"```(\w+)\n(.*?)```", section, re.DOTALL)
    files = {body.split("\n")[0].removeprefix("# "): body for kind, body in blocks if kind == "toml"}
    typed = "".join(body for kind, body in blocks if kind == "console").replace("\\\n", " ")
    commands = re.findall(r"^(\w+)\$\s+(.*)$", typed, re.MULTILINE)
    return files, [(who, shlex.split(line, comments=True)) for who, line in commands]


class Hospital(ClientRuns):
    clients = 2
    rows_of_client = 300

    def test_is_as_it_is_written(self):
        for name in ("hub", *WARDS):
            (self.folder / name).mkdir()
        for name in ("sample.csv", "test.csv"):
            shutil.copy(self.folder / name, self.folder / "hub" / name)
        for i, name in enumerate(WARDS):
            shutil.copy(self.folder / "clients" / f"{self.name(i)}.csv", self.folder / name / "patients.csv")
        files, commands = walk()
        self.assertEqual(sorted(files), ["job.toml", "sample.toml"])
        self.assertGreater(len(commands), 6)
        for name, text in files.items():
            self.write(f"hub/{name}", text.replace("0.0.0.0:7070", f"127.0.0.1:{self.port}"))
        running = []
        for who, words in commands:
            words = [TROUPE if word == "troupe" else word.replace("hub.example:7070", f"127.0.0.1:{self.port}") for word in words]
            if who == "hub" and len(words) > 1 and words[1] == "predict":
                for run in running:
                    self.ended(run)
            run = self.start(*words, cwd=self.folder / who)
            self.started.append(run)
            if words[0] == TROUPE and words[1] in FOR_LONG:
                running.append(run)
            else:
                self.ended(run)
            if words[1:3] == ["certs", "issue"]:
                for ward in WARDS:  # as the remark says
                    for name in ("ca.pem", f"ward-{ward}.pem", f"ward-{ward}.key"):
                        shutil.copy2(self.folder / "hub" / name, self.folder / ward / name)
        self.assertEqual(len(running), 3)
        with open(self.folder / "hub" / "predictions.csv", encoding="utf-8", newline="") as file:
            predicted = list(csv.DictReader(file))
        actual = [row[-1] for row in self.rows_of(self.folder / "hub" / "test.csv")[1:]]
        right = sum(row["digit"] == kind for row, kind in zip(predicted, actual, strict=True))
        self.assertGreater(right / len(actual), 0.8)
        for ward in WARDS:
            self.assertEqual(sorted(os.listdir(self.folder / ward)), sorted(["ca.pem", "patients.csv", f"ward-{ward}.key", f"ward-{ward}.pem"]))


if __name__ == "__main__":
    main()
