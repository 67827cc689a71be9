"""How long tests wait, on machines of any speed.

Most waits are for something that happens: they end with it, and their deadline (HANG) is reached
only by what hangs. Where time itself is tested (how soon a loss is noticed, for how long a late one
is waited for), it is told in seconds of a quiet machine, and SLOWNESS says what these are here.
"""

import time

HANG = 1200  # seconds
WORK_SECONDS = 0.02  # that `work` takes on a machine of today with nothing else to do
SLOWNESS_MAX = 20.0


def work():
    total = 0
    for number in range(400_000):
        total += number
    return total


def slowness():
    """How many times longer things take here and now than on a quiet machine; 1 or more."""
    begin = time.monotonic()
    for _ in range(3):
        work()
    return min(SLOWNESS_MAX, max(1.0, (time.monotonic() - begin) / (3 * WORK_SECONDS)))


SLOWNESS = slowness()


def lenient(seconds):
    """So long may it take here what takes at most so long on a quiet machine."""
    return seconds * 2 * max(SLOWNESS, slowness())


def wait_until(condition, words=lambda: "waited for too long", seconds=HANG, every=0.02):
    """Fails with these words when the condition does not come in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(words())
        time.sleep(every)
