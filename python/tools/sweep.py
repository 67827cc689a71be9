"""`troupe sweep`: trains a job once for each choice of values, and tells which was best.

    sweep.json   what was asked for: a folder of another search is refused
    001, 002 ..  run folders as any other; one that is killed is gone on from
    sweep.csv, curves.svg, best.toml   once all have ended, or were stopped

Trials are processes, each a `troupe train` of one thread with a run folder of its own, as many at once as there is room for:
one that runs out of memory takes no other with it, and every other command can resume, compare and show what it leaves.
"""

import ctypes
import os
import shlex
import shutil
import signal
import time
from types import SimpleNamespace

from claim import FolderClaim
from curves import curves_svg
from records import Command, Watched, is_run, text_of
from results import (cells_csv, cells_text, folder_name, has_diverged, has_reached, judged, setting_cells, settings_object,
                     shown_cell, shown_number, trial_cells, trial_object)
from rule import SweepRule, halving_rungs
from terminal import CODES, Failure, one_line, print_message, print_result
from trials import TRIALS_MAX, sweep_trials, with_folds, without_fold

# For trials to stop at a version and write their files; then they are killed.
STOP_SECONDS = 30
LINES_KEPT = 10
# What stops a search. The first two do so even if they were ignored when it started, as shells do with `&`.
STOP_SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGXCPU]
SET_PARENT_DEATH_SIGNAL = 1  # of prctl
LIBC = ctypes.CDLL(None)


def number_in(text):
    """As the command reads its options."""
    return min(int(text, 8 if text.startswith("0") else 10), 2 ** 64 - 1)


def run(options, told):
    grids, randoms = options.get("grid", []), options.get("random", [])
    folds, halving, seed, slots = (number_in(options.get(key, ["0"])[0]) for key in ("folds", "halve", "seed", "slots"))
    if not grids and not randoms and folds == 0:
        raise Failure("usage", "a sweep needs --grid, --random or --folds", "", "as --grid optimizer.learning_rate=0.1,0.01")
    x = SimpleNamespace(command=Command(options["troupe"][0]), job=options["job"][0], sets=options.get("set", []), folds=folds,
                        quiet="quiet" in options)
    x.own_sets = x.sets
    if folds:
        x.validation_fraction = validation_fraction_of(x)
        x.sets = [*["data.validation_fraction=0"] * bool(x.validation_fraction), *x.sets, f"data.folds={folds}"]
    base = x.command.job(x.job, [*x.sets, *["data.fold=0"] * bool(folds)])  # so that the job is whole
    told["job"] = base["name"]
    x.watched = Watched(base["keys"])
    x.to_go_on = shlex.join(["troupe", "sweep", x.job, *(
        word for key, values in options.items() if key not in ("troupe", "job", "resume", "overwrite")
        for value in values for word in ([f"--{key}"] if key in ("json", "quiet") else [f"--{key}", value])), "--resume"])
    x.trials = sweep_trials(grids, randoms, lambda draws: x.command.draw(draws, seed))
    if folds:
        x.trials = with_folds(x.trials, folds)
    epochs = int(base["keys"]["training.epochs"])
    x.rungs, x.keep_one_of = [epochs], max(halving, 1)
    x.slots = slots or len(os.sched_getaffinity(0))
    if halving:
        if folds:
            raise Failure("usage", "--halve drops trials, and --folds trains all of a setting", "", "leave one of the two out")
        if base["keys"]["training.steps"] is not None:
            raise Failure("usage", "--halve counts epochs, and training.steps is set", "", "set training.epochs instead")
        x.rungs = halving_rungs(len(x.trials), epochs, halving)
    x.plan = plan_of(x)
    x.folder = options["output"][0] if "output" in options else free_folder(
        x, f"runs/{base['name']}-sweep", "resume" in options, "overwrite" in options)
    # All trials before the first one begins: a wrong value of the last one is found now.
    x.command.job(x.job, *([*x.sets, *(f"{key}={value}" for key, value in trial)] for trial in x.trials))
    with FolderClaim(x.command, x.folder):
        begin(x, "resume" in options, "overwrite" in options)
        if not x.quiet:
            print_message(f"sweep     {len(x.trials)} trials, {x.slots} at once, in {x.folder}\n")
            if folds and x.validation_fraction:
                print_message(f"folds     are the validation rows, in place of data.validation_fraction = {x.validation_fraction}\n")
        search = RunningSweep(x)
        search.run()
        has_best = tell(x, search, "json" in options)
    return 128 + search.stop_signal if search.stop_signal else 0 if has_best else 1


def validation_fraction_of(x):
    """As the job has it without folds; "" where it keeps no rows, or is no job without folds."""
    try:
        found = x.command.job(x.job, x.sets)["keys"]["data.validation_fraction"] or "0"
    except Failure:  # what is wrong with it still, that is told with folds
        return ""
    return found if float(found) > 0 else ""


# ---- The folder ----


def plan_of(x):
    return one_line({"job": text_of(x.job), "sets": x.sets, "rungs": x.rungs, "keep_one_of": x.keep_one_of,
                     "trials": [dict(trial) for trial in x.trials]})


def free_folder(x, first, resumes, overwrites):
    """Where nobody named a folder, other searches of the job stay: this one has the first folder that is its own, or free."""
    folder, number = first, 1
    while not overwrites and os.path.exists(plan := os.path.join(folder, "sweep.json")) and text_of(plan) != x.plan:
        number += 1
        folder = f"{first}-{number}"
    return first if resumes and not os.path.exists(folder) else folder


def begin(x, resumes, overwrites):
    path, plan = os.path.join(x.folder, "sweep.json"), x.plan
    is_there = os.path.exists(path)
    if is_there and not resumes and not overwrites:
        ways = f"to go on with it: {x.to_go_on}; " if text_of(path) == plan else "it has other trials, or another job file: "
        raise Failure("cannot-create", "there is a sweep already", x.folder,
                      ways + "--overwrite replaces it, -o FOLDER chooses another place")
    if is_there and resumes and text_of(path) != plan:
        raise Failure("cannot-create", "the sweep there has other trials, or another job file", x.folder,
                      "give the same options as then, or choose another place with -o FOLDER")
    if is_there and overwrites:
        remove_search(x.folder)
    if not is_there or overwrites:
        # Where there was no search nothing is removed, and no run of anybody is taken for a trial.
        for trial in range(len(x.trials)):
            if os.path.exists(folder_of(x, trial)):
                raise Failure("cannot-create", "a trial would be written there, and it is no trial", folder_of(x, trial),
                              "choose another place with -o FOLDER")
        x.command.write_file(path, plan)


def remove_search(folder):
    """The trials of an earlier search and what came of them. What lies there under a trial's name and is no run stays."""
    for name in ("best.toml", "sweep.csv", "folds.csv", "curves.svg"):
        if os.path.exists(os.path.join(folder, name)):
            os.remove(os.path.join(folder, name))
    for trial in range(TRIALS_MAX):
        path = os.path.join(folder, folder_name(trial))
        if is_run(path):
            shutil.rmtree(path, ignore_errors=True)


def folder_of(x, trial):
    return os.path.join(x.folder, folder_name(trial))


def tell(x, search, as_json):
    """Tells and writes what came of it. Whether there is a best trial, or setting."""
    rule, ranking = search.rule, search.rule.ranking()
    objects = [trial_object(x.trials, search.runs, rule, trial, x.watched) for trial in range(len(x.trials))]
    ranked = [objects[trial] for trial in ranking]
    cells = trial_cells(x.trials, ranked)
    x.command.write_file(os.path.join(x.folder, "sweep.csv"), cells_csv(cells))
    drawn = [(folder_name(trial), search.runs[trial].history) for trial in ranking
             if search.runs[trial] and search.runs[trial].history]
    if drawn:
        x.command.write_file(os.path.join(x.folder, "curves.svg"), curves_svg(drawn))
    result = {"trials": ranked, "best": ranking[0] + 1 if rule.losses[ranking[0]] is not None else None}
    best_job = None
    if x.folds:
        settings = result["settings"] = settings_object(objects, x.folds, x.watched)
        cells = setting_cells(settings)
        result["best"] = settings[0]["setting"] if settings[0]["loss"] is not None else None
        x.command.write_file(os.path.join(x.folder, "folds.csv"), cells_csv(cells))
        if result["best"]:
            best_job = job_of_setting(x, result["best"] - 1)
    elif result["best"]:
        best_job = text_of(os.path.join(folder_of(x, ranking[0]), "job.toml"))
    if best_job is not None:
        x.command.write_file(os.path.join(x.folder, "best.toml"), best_job)
    print_result(one_line(result) if as_json else cells_text(cells))
    if search.stop_signal:
        half = [one["trial"] - 1 for one in objects if one["state"] == "half-trained"]
        ended = len(objects) - len(half) - sum(one["state"] == "waiting" for one in objects)
        facts = x.command.runs([folder_of(x, trial) for trial in half]) if half else []
        anew = any(run["checkpoints"] == 0 for run in facts)
        print_message(f"stopped   {ended} of {len(objects)} trials have ended, {len(half)} are half-trained"
                      + (": those without a checkpoint begin anew\n" if anew else "\n")
                      + f"go on     {x.to_go_on}\n")
    return result["best"] is not None


def job_of_setting(x, setting):
    """Without folds: on all rows that are not for testing, or for validation by the job's own word."""
    values = [f"{key}={value}" for key, value in without_fold(x.trials[setting * x.folds])]
    keys = x.command.job(x.job, [*x.sets, *values, "data.fold=0"])["keys"]
    sets = [*x.own_sets, *values]
    if not x.validation_fraction and float(keys["data.test_fraction"] or 0) == 0:  # nothing is split off any more
        sets.append("data.stratify=false")
        if keys["data.split_by"] is not None:
            ignored = (keys["data.ignore"] or "[]")[1:-1].strip()
            sets += ["data.split_by=", f"data.ignore=[{ignored}{', ' if ignored else ''}{keys['data.split_by']}]"]
    return x.command.job(x.job, sets)["text"]


# ---- Trials ----


def end_text(status):
    """Of a process, by what `waitid` says of it."""
    if status.si_code != os.CLD_EXITED:
        return f"killed by signal {status.si_status} ({signal.strsignal(status.si_status)})"
    names = [f" ({name})" for name, code in CODES.items() if code == status.si_status]
    return f"exit code {status.si_status}{''.join(names)}"


class RunningSweep:
    """A search that runs what has not run yet."""

    def __init__(self, x):
        self.x = x
        self.rule = SweepRule(len(x.trials), x.rungs, x.keep_one_of)
        self.runs = [self.read(trial) for trial in range(len(x.trials))]
        self.running = {}  # process -> (trial, file of what it says)
        self.stop_signal = 0
        self.deadline = None

    def read(self, trial):
        """None where there is no run, or one that came to write nothing."""
        folder = folder_of(self.x, trial)
        return self.x.command.read_run(folder) if is_run(folder) else None

    def run(self):
        stops = {x for x in STOP_SIGNALS if x in STOP_SIGNALS[:2] or signal.getsignal(x) != signal.SIG_IGN}
        self.free_signals = {signal.SIGCHLD, *stops}
        signal.pthread_sigmask(signal.SIG_BLOCK, self.free_signals)
        try:
            self.start_some()
            while self.running:
                left = 3600 if self.deadline is None else max(0, self.deadline - time.monotonic())
                news = signal.sigtimedwait(self.free_signals, left)
                if news and news.si_signo != signal.SIGCHLD:
                    self.stop(news.si_signo)
                if self.deadline is not None and time.monotonic() >= self.deadline:
                    self.send_to_all(signal.SIGKILL)
                self.collect_ends()
                self.start_some()
        finally:
            self.send_to_all(signal.SIGKILL)
            for process in self.running:
                os.waitpid(process, 0)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, self.free_signals)

    def start_some(self):
        """What stands at the rung already, from another life of the search, need not run."""
        while not self.stop_signal and len(self.running) < self.x.slots:
            trial = self.rule.next()
            if trial is None:
                return
            self.rule.on_started(trial)
            run, epochs = self.runs[trial], self.rule.epochs()
            if run and has_diverged(run):
                self.rule.on_failed(trial)
            elif run and has_reached(run, epochs):
                self.reached(trial, judged(run, epochs, self.x.watched)[1])
            else:
                self.start(trial)

    def reached(self, trial, figure):
        self.rule.on_reached(trial, None if figure is None else self.x.watched.sign * figure)

    def start(self, trial):
        x, folder = self.x, folder_of(self.x, trial)
        # What left no checkpoint begins anew.
        resumes = bool(self.runs[trial]) and x.command.runs([folder])[0]["checkpoints"] > 0
        # What people set comes behind what a search sets by itself, and before what makes the trial.
        sets = ["runtime.threads=1", "training.replicas=1", *x.sets, *(f"{key}={value}" for key, value in x.trials[trial]),
                "output.directory=" + folder]
        if len(x.rungs) > 1:  # else the job's own length, which may be one in steps
            sets.append(f"training.epochs={self.rule.epochs()}")
        words = [x.command.path, "train", x.job, "--quiet", "--resume" if resumes else "--overwrite",
                 *(word for text in sets for word in ("--set", text))]
        said = open(os.memfd_create("trial"), "w+b")
        try:
            process = self.start_process(words, said.fileno())
        except OSError as error:
            raise Failure("internal", "cannot start a process: " + error.strerror, folder_name(trial),
                          "is there a limit on processes or open files?") from error
        self.running[process] = (trial, said)

    def start_process(self, words, said):
        """In a group of its own: Ctrl-C on the terminal reaches the sweep alone, which passes it on. The kernel kills the trial when
        the sweep ends."""
        parent = os.getpid()
        process = os.fork()
        if process == 0:
            try:
                os.setpgid(0, 0)
                LIBC.prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
                for number in {*self.free_signals, signal.SIGPIPE, signal.SIGXFSZ}:
                    signal.signal(number, signal.SIG_DFL)
                signal.pthread_sigmask(signal.SIG_UNBLOCK, self.free_signals)
                os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                os.dup2(said, 2)
                if os.getppid() == parent:  # else it died before the line above
                    os.execv(words[0], words)
            except OSError:
                print_message(f"cannot run {words[0]}\n")
            finally:
                os._exit(127)
        try:
            os.setpgid(process, process)  # here and there, as a signal may be sent right after this
        except OSError:
            pass  # it came first, and is another program by now
        return process

    def collect_ends(self):
        for process in list(self.running):
            status = os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if status is None:
                continue
            # Processes that it started and left behind; while it is not reaped no other has its number.
            self.send(process, signal.SIGKILL)
            os.waitpid(process, 0)
            trial, said = self.running.pop(process)
            with said:
                said.seek(0)
                lines = said.read().decode("utf-8", "surrogateescape").split("\n")
                self.on_end(trial, status, (lines if lines[-1] else lines[:-1])[-LINES_KEPT:])

    def on_end(self, trial, status, last_lines):
        run = self.runs[trial] = self.read(trial)
        epochs = self.rule.epochs()
        values = " ".join(f"{key}={value}" for key, value in self.x.trials[trial])
        if run and has_reached(run, epochs):
            row, figure = judged(run, epochs, self.x.watched)
            self.reached(trial, figure)
            if not self.x.quiet:
                last = run.history[-1]["epoch"] if run.history else epochs
                shown = " ".join(f"{key}={shown_cell(value)}" for key, value in self.x.trials[trial])
                print_message(f"trial {folder_name(trial)}  epoch {row['epoch'] if row else last} of {last}  {self.x.watched.name} "
                              f"{'none' if figure is None else shown_number(figure)}  {shown}\n")
        elif self.stop_signal and not (run and has_diverged(run)):
            self.rule.on_stopped(trial)
        else:
            self.rule.on_failed(trial)
            lines = "".join(f"    {line}\n" for line in last_lines)
            print_message(f"troupe: warning: trial {folder_name(trial)} ({values}) failed: {end_text(status)}\n"
                          + ("  its last lines:\n" + lines if lines else ""))

    def stop(self, number):
        """A second one ends all at once."""
        self.send_to_all(signal.SIGKILL if self.stop_signal else number)
        if not self.stop_signal:
            self.deadline = time.monotonic() + STOP_SECONDS
        self.stop_signal = number

    def send_to_all(self, number):
        for process in self.running:
            self.send(process, number)

    def send(self, process, number):
        try:
            os.killpg(process, number)
        except OSError:
            pass  # there is none any more
