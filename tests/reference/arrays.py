"""Makes arrays.json: the bytes of NPY files as NumPy writes them, and the numbers they hold.

    /usr/bin/python3 tests/reference/arrays.py       (needs python3-numpy)
"""

import io
from pathlib import Path

import compact_json
import numpy

TYPES = ["|b1", "|u1", "|i1", "<u2", ">i2", "<u4", ">u4", "<i4", "<i8", ">u8", "<f4", ">f4", "<f8",
         ">f8"]


def file_hex(array, version=(1, 0)):
    out = io.BytesIO()
    numpy.lib.format.write_array(out, array, version=version)
    return out.getvalue().hex()


def case(array, version=(1, 0)):
    return {"shape": list(array.shape), "file": file_hex(array, version),
            "values": numpy.asarray(array, dtype=numpy.float64).ravel().tolist()}


def main():
    content = {}
    for name in TYPES:
        kind = numpy.dtype(name).kind
        numbers = numpy.array([[0, 1, 2], [3, 100, 7]], dtype=numpy.float64)
        if kind in "if":
            numbers[1, 0] = -3
        if kind == "f":
            numbers[0, 1] = 0.1
        content[name] = case(numbers.astype(name))
    rows = numpy.arange(6, dtype="<f4").reshape(2, 3)
    content["version 2.0"] = case(rows, (2, 0))
    content["version 3.0"] = case(rows, (3, 0))
    content["cube"] = case(numpy.arange(12, dtype="<i4").reshape(2, 3, 2))
    content["vector"] = case(numpy.array([2, 5], dtype="<i8"))
    content["fortran vector"] = case(numpy.asfortranarray(numpy.array([[1.0], [2.0]])))
    refused = {"fortran": file_hex(numpy.asfortranarray(rows)),
               "half": file_hex(rows.astype("<f2")),
               "complex": file_hex(rows.astype("<c8")),
               "text": file_hex(numpy.array([["a", "b"]])),
               "fields": file_hex(numpy.zeros(2, dtype=[("a", "<f4"), ("b", "<i4")])),
               "scalar": file_hex(numpy.array(3.0)),
               "no rows": file_hex(numpy.zeros((0, 3)))}
    compact_json.write(Path(__file__).with_suffix(".json"), {"read": content, "refused": refused})


main()
