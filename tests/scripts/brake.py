"""A machine that is slower than others: its process runs a part of the time."""

import signal
import threading
import time

RUNS_MS, STANDS_MS = 5, 45


class Brake:
    """Lets a process (`Process` of cluster_run.py) run a tenth of the time, until it is released."""

    def __init__(self, process):
        self.process, self.over = process, threading.Event()
        self.thread = threading.Thread(target=self.work)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.release()

    def work(self):
        while not self.over.is_set() and self.process.is_running():
            self.process.signal(signal.SIGSTOP)
            time.sleep(STANDS_MS / 1000)
            self.process.signal(signal.SIGCONT)
            time.sleep(RUNS_MS / 1000)

    def release(self):
        self.over.set()
        self.thread.join()
