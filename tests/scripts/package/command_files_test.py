"""The manual page and the shells' completions name what the command has, and nothing else.

    python3 tests/scripts/package/command_files_test.py BUILD_FOLDER SOURCE_FOLDER
"""

import re
import shutil
import sys
import unittest

sys.path.insert(0, f"{sys.path[0]}/..")
from command import SOURCE, TROUPE, OneFolderTest, finished


def told(*words):
    return finished(TROUPE, *words, "--help").stdout


def words_of(*path):
    """Commands and options, from --help, by a reading of its own."""
    text = told(*path)
    commands = re.findall(r"^  ([a-z]+) ", text.partition("Subcommands:\n")[2].partition("\n\n")[0],
                          re.MULTILINE)
    options = text.partition("Options:\n")[2].partition("\n\n")[0]
    return commands, sum((names.split(",") for names in
                          re.findall(r"^  (-\S+)", options, re.MULTILINE)), [])


class CommandFiles(OneFolderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        finished(SOURCE / "scripts" / "make-command-files", TROUPE, cls.folder)
        cls.commands = words_of()[0]
        cls.paths = [[name] for name in cls.commands if name != "config"]
        cls.paths += [["config", name] for name in words_of("config")[0]]

    def complete(self, *words):
        """What bash offers for the last of these words."""
        script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _troupe; '
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        return finished("bash", "-c", script, "bash", self.folder / "troupe", "troupe", *words).stdout.split()

    def test_there_are_commands_to_tell_of(self):
        self.assertIn("doctor", self.commands)
        self.assertIn(["config", "show"], self.paths)
        self.assertIn("--set", words_of("train")[1])

    def test_bash_offers_every_command(self):
        self.assertEqual(self.complete(""), self.commands)
        self.assertEqual(self.complete("config", ""), words_of("config")[0])
        self.assertEqual(self.complete("do"), ["doctor"])

    def test_bash_offers_every_option_of_each_command_and_no_other(self):
        for path in self.paths:
            self.assertEqual(self.complete(*path, "-"), words_of(*path)[1], path)

    def test_bash_leaves_files_to_the_shell_and_knows_few_values(self):
        self.assertEqual(self.complete("train", ""), [])
        self.assertEqual(self.complete("train", "--set", ""), [])
        self.assertEqual(self.complete("predict", "--format", "n"), ["npy"])
        self.assertEqual(self.complete("train", "a.toml", "--re"), ["--replay", "--resume"])

    def test_zsh_names_every_command_and_option(self):
        text = self.read("_troupe")
        self.assertTrue(text.startswith("#compdef troupe\n"))
        for path in self.paths:
            body = re.search(r"^_troupe_" + "_".join(path) + r"\(\) \{\n(.*?)^\}", text,
                             re.MULTILINE | re.DOTALL)[1]
            for option in words_of(*path)[1]:
                self.assertRegex(body, rf"'\*?{re.escape(option)}\[", path)
        if shutil.which("zsh"):
            finished("zsh", "-n", self.folder / "_troupe")

    def test_manual_names_every_command_argument_and_option(self):
        text = self.read("troupe.1").replace(r"\-", "-")
        sections = dict(re.findall(r"^\.SS (.*?)\n(.*?)(?=^\.S[SH])", text,
                                   re.MULTILINE | re.DOTALL))
        for path in self.paths:
            title = next(one for one in sections if (one + " ").startswith(
                " ".join(["troupe", *path]) + " "))
            positionals = re.findall(r"^  \w+ (\S+) REQUIRED", told(*path), re.MULTILINE)
            for word in positionals:
                self.assertIn(word, title)
            for option in words_of(*path)[1]:
                self.assertIn(rf"\fB{option}\fR", sections[title], path)

    def test_manual_tells_the_exit_codes_of_the_contract(self):
        text = (SOURCE / "docs" / "command-line.md").read_text(encoding="utf-8")
        codes = set(re.findall(r"^\| (\d+) \| ", text, re.MULTILINE))
        told_codes = self.read("troupe.1").partition(".SH EXIT STATUS")[2].partition(".SH ")[0]
        self.assertEqual(set(re.findall(r"\d+", " ".join(re.findall(r"^\.B (.*)", told_codes,
                                                                    re.MULTILINE)))), codes)

    @unittest.skipUnless(shutil.which("groff"), "there is no groff")
    def test_manual_is_one_for_man(self):
        self.assertEqual(finished("groff", "-man", "-ww", "-z", self.folder / "troupe.1").stderr, "")


if __name__ == "__main__":
    unittest.main(argv=["command_files_test"], verbosity=1)
