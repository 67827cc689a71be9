"""Files for TensorBoard, read without it: events, what it would show, names of its scalars."""

import glob
import os
import struct


def crc32c(data):
    """Bit by bit, from the polynomial alone: nothing in common with the program's table."""
    rest = 0xFFFFFFFF
    for byte in data:
        rest ^= byte
        for _ in range(8):
            rest = rest >> 1 ^ (0x82F63B78 if rest & 1 else 0)
    return rest ^ 0xFFFFFFFF


def masked(data):
    sum_of = crc32c(data)
    return ((sum_of >> 15 | sum_of << 17) + 0xA282EAD8) & 0xFFFFFFFF


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def fields(data):
    """The fields of a protocol buffer: (number, value)."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            size, at = {1: (8, at), 5: (4, at)}.get(key & 7) or varint(data, at)
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def tensorboard_events(path):
    """Events of one file, each checksum held against our own."""
    with open(path, "rb") as file:
        data = file.read()
    at = 0
    while at < len(data):
        size, sum_of_size = struct.unpack_from("<QI", data, at)
        event = data[at + 12:at + 12 + size]
        assert sum_of_size == masked(data[at:at + 8]), "checksum of a length"
        assert struct.unpack_from("<I", data, at + 12 + size)[0] == masked(event), "checksum"
        at += 16 + size
        yield dict(fields(event))


def tensorboard_points(folder):
    """What TensorBoard shows: {tag: {step: value}} over all files of the folder, in order of their names."""
    shown = {}
    for path in sorted(glob.glob(os.path.join(folder, "tensorboard", "events.out.tfevents.*"))):
        events = tensorboard_events(path)
        assert next(events)[3] == b"brain.Event:2"
        for event in events:
            step = event.get(2, 0)
            if 7 in event:
                assert dict(fields(event[7])) == {1: 1}, "the status START"
                for points in shown.values():
                    for late in [x for x in points if x >= step]:
                        del points[late]
            for _, value in fields(event.get(5, b"")):
                scalar = dict(fields(value))
                points = shown.setdefault(scalar[1].decode(), {})
                points[step], = struct.unpack("<f", scalar[2])
    return shown


def tensorboard_tags(path):
    """Names of the scalars in one file."""
    return {dict(fields(value))[1].decode() for event in tensorboard_events(path)
            for _, value in fields(event.get(5, b""))}
