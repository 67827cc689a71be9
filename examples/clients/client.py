"""A client of a federated run in plain Python: it reads its rows itself, and lends them to libtroupe_client.so.

    python3 client.py LIBRARY HOST:PORT FILE [NAME]

FILE is a CSV file with a header; its last column is the class. The rows stay here; the server gets models.
"""

import csv
import ctypes
import json
import os
import signal
import sys
from ctypes import POINTER, c_char_p, c_double, c_float, c_int, c_uint64, c_void_p

SAY = ctypes.CFUNCTYPE(None, c_void_p, c_char_p)


class Order(ctypes.Structure):
    """What a trainer is asked."""


Order._fields_ = [("round", c_uint64), ("parameter_count", c_uint64), ("start", POINTER(c_float)),
                  ("stop_requested", ctypes.CFUNCTYPE(c_int, POINTER(Order)))]


class Update(ctypes.Structure):
    """What came of it."""
    _fields_ = [("values", POINTER(c_float)), ("rows", c_uint64), ("loss", c_double), ("correct", c_uint64)]


TRAINER = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(Order), POINTER(Update))


class Calls(ctypes.Structure):
    """The table of troupe/client.h."""
    _fields_ = [("open", ctypes.CFUNCTYPE(c_void_p, c_char_p, c_char_p, SAY, c_void_p)),
                ("table", ctypes.CFUNCTYPE(c_char_p, c_void_p)),
                ("file", ctypes.CFUNCTYPE(c_int, c_void_p, c_char_p, c_char_p)),
                ("rows", ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(c_float), c_uint64, c_uint64,
                                          POINTER(c_float), c_uint64)),
                ("trainer", ctypes.CFUNCTYPE(c_int, c_void_p, TRAINER, c_void_p)),
                ("run", ctypes.CFUNCTYPE(c_int, c_void_p)),
                ("stop", ctypes.CFUNCTYPE(None, c_void_p)),
                ("error", ctypes.CFUNCTYPE(c_char_p, c_void_p)),
                ("close", ctypes.CFUNCTYPE(None, c_void_p))]


def load(library):
    calls = ctypes.CDLL(library).troupe_client_calls
    calls.restype = POINTER(Calls)
    return calls(1).contents


def floats(values):
    return (c_float * len(values))(*values)


def rows_of(path, table):
    """The features of all rows in the table's order, and each row's class as its number."""
    with open(path, encoding="utf-8", newline="") as file:
        names, *rows = csv.reader(file)
    places = [names.index(name) for name in table["features"]]
    features = [float(row[place]) for row in rows for place in places]
    return features, [float(table["classes"].index(row[-1])) for row in rows]


def main(library, server, path, name=None):
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # `run` would not hear of Ctrl-C; the server asks others
    calls = load(library)
    say = SAY(lambda _, text: print(text.decode(), file=sys.stderr, flush=True))
    name = name or os.path.basename(path).split(".")[0]
    client = calls.open(server.encode(), f"name = '{name}'".encode(), say, None)
    code = 1
    table = calls.table(client)
    if table:
        features, classes = rows_of(path, json.loads(table))
        code = calls.rows(client, floats(features), len(classes), len(features) // len(classes), floats(classes), 1)
        code = code or calls.run(client)
    if code:
        print(calls.error(client).decode(), file=sys.stderr)
    calls.close(client)
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if len(sys.argv) in (4, 5) else __doc__)
