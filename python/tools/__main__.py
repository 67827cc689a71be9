"""The commands of `troupe` that are Python programs. The command holds these files as an archive, reads its own command
line, and becomes `python3 -I ARCHIVE COMMAND NAME=VALUE...` (app/tools)."""

import os
import signal
import sys

if sys.version_info < (3, 9):
    sys.exit("troupe: error: this command needs Python 3.9 or later, and python3 is %d.%d" % sys.version_info[:2])

import terminal


def main(name, *words):
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # it ends the program, with no trace of its code
    os.set_inheritable(int(os.path.basename(sys.argv[0])), False)  # /proc/self/fd/N: trials are not to inherit the archive
    options = {}
    for word in words:
        key, value = word.split("=", 1)
        options.setdefault(key, []).append(value)
    if name == "sweep":
        from sweep import run
    else:
        from compare import run
    return terminal.exit_code_of(run, options)


sys.exit(main(*sys.argv[1:]))
