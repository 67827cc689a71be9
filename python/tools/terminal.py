"""What the tools print, as the command prints it: results on standard output, everything else on standard error."""

import errno
import json
import math
import os

CODES = {"diverged": 1, "usage": 2, "bad-data": 65, "missing-input": 66, "unavailable": 69, "internal": 70,
         "cannot-create": 73, "io-error": 74, "mismatch": 76, "no-permission": 77, "bad-job": 78, "interrupted": 130,
         "terminated": 143}
STANDARD_OUTPUT = "standard output"


class Failure(Exception):
    """What went wrong, where, and what to do about it. `text`: what standard error says of it; by default just that."""

    def __init__(self, code, what, where="", hint="", text=None):
        super().__init__(what)
        self.code, self.what, self.where, self.hint = code, what, where, hint
        self.text = text
        if text is None:
            self.text = f"troupe: error: {where}{': ' if where else ''}{what}\n" + (f"  hint: {hint}\n" if hint else "")
        if where == STANDARD_OUTPUT and what.endswith(os.strerror(errno.EPIPE)):
            self.text = ""  # the reader of the result has enough of it, as `head`


def number_text(x):
    """As the command writes numbers in JSON: the shortest digits that give the same number."""
    if isinstance(x, int):
        return str(x)
    if not math.isfinite(x):
        return "null"
    if 1e15 <= abs(x) < 1e16:  # from here on with an exponent
        digits = repr(abs(x)).replace(".", "").rstrip("0")
        return ("-" if x < 0 else "") + digits[0] + ("." + digits[1:] if digits[1:] else "") + "e+15"
    return repr(x)


def json_text(x):
    if isinstance(x, dict):
        return "{" + ",".join(json_text(key) + ":" + json_text(value) for key, value in x.items()) + "}"
    if isinstance(x, (list, tuple)):
        return "[" + ",".join(map(json_text, x)) + "]"
    if isinstance(x, (int, float)) and not isinstance(x, bool):
        return number_text(x)
    return json.dumps(x, ensure_ascii=False)


def one_line(x):
    """The object on one line; bytes that are no UTF-8 are replaced."""
    return json_text(x).encode("utf-8", "surrogateescape").decode("utf-8", "replace") + "\n"


def write_all(descriptor, text):
    data = text.encode("utf-8", "surrogateescape")
    while data:
        data = data[os.write(descriptor, data):]


def print_message(text):
    """That nobody listens there is no error."""
    try:
        write_all(2, text)
    except OSError:
        pass


def print_result(text):
    try:
        write_all(1, text)
    except OSError as error:
        raise Failure("io-error", "cannot write the result: " + error.strerror, STANDARD_OUTPUT) from error


def exit_code_of(run, options):
    """Runs a command. `run(options, told)` puts the job's name into `told` as soon as it knows it: with --json a failure is
    printed to standard output as one object, too."""
    told = {}
    try:
        return run(options, told)
    except Failure as error:
        failure = error
    except MemoryError:
        failure = Failure("bad-job", "there is not enough memory", "",
                          "use less data, a smaller model, batch or number of replicas, or a machine with more")
    except Exception as error:
        failure = Failure("internal", f"{type(error).__name__}: {error}", "", "this is a defect; please report it")
    if "json" in options and failure.where != STANDARD_OUTPUT:
        error = {key: getattr(failure, key) for key in ("code", "what", "where", "hint")}
        try:
            print_result(one_line({"error": error, **told}))
        except Failure:
            pass  # the reason is on standard error
    print_message(failure.text)
    return CODES[failure.code]
