"""Writes the reference numbers as JSON that a reader can compare line by line.

A list of plain numbers is one line. A NumPy float32 is printed with 9 significant digits and a
Python float with 17: enough for either to be read back as the same bits.
"""

import json

import numpy


def number_text(value):
    if isinstance(value, numpy.float32):
        return f"{value:.9g}"
    if isinstance(value, float):
        # The shortest text that reads back as the same double; never more than 17 digits.
        return repr(value)
    return json.dumps(value)


def text_of(value, indent=0):
    pad = " " * (indent + 1)
    if isinstance(value, numpy.ndarray):
        value = list(value) if value.dtype == numpy.float32 else value.tolist()
    if isinstance(value, dict):
        rows = [f"{pad}{json.dumps(key)}: {text_of(item, indent + 1)}" for key, item in value.items()]
        return "{\n" + ",\n".join(rows) + "\n" + " " * indent + "}"
    if isinstance(value, (list, tuple)):
        if any(isinstance(item, (list, tuple, dict, numpy.ndarray)) for item in value):
            rows = [pad + text_of(item, indent + 1) for item in value]
            return "[\n" + ",\n".join(rows) + "\n" + " " * indent + "]"
        return "[" + ", ".join(number_text(item) for item in value) + "]"
    return number_text(value)


def write(path, value):
    path.write_text(text_of(value) + "\n", encoding="utf-8")
