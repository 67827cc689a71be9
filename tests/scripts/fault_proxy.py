"""A wire between processes on which things go wrong: a proxy of TCP connections.

Whoever dials a `Wire`'s port reaches the port behind it, by way of a thread of this process. The
wire can be slow (`latency`, `jitter`, `bytes_per_second`), fall silent (also one way), break (with a reset or a
proper end, between records or in the middle of one), and turn bits over.

It knows as much of what passes as it needs for that: after the lines of greeting come records, each
with a header that has the length of the rest (actors/net/socket/checked_session.hpp; over a secured
connection they are those of TLS; over one that carries pieces frames, actors/net/carriers). Bits are turned over anywhere in them, and in greetings if so
asked.
"""

import asyncio
import collections
import random
import socket
import struct
import threading

RECORD_HEADER_BYTES = 12
TLS_HEADER_BYTES = 5
FRAME_HEAD_BYTES = 152
VALUE_BYTES = {0: 4, 1: 2}  # by the kind of a frame; others have no values behind them
QUEUED_BYTES_MAX = 1 << 20  # of one direction; who sends more has to wait, as with any wire


class Direction:
    """What travels one way over one connection: whole messages, each in its time."""

    def __init__(self, wire, lines, way):
        self.wire = wire
        self.way = way  # "there": from who has dialled; "back"
        self.lines = lines  # of greeting that are still to come
        self.carries = False  # frames, not records
        self.buffer = bytearray()
        self.source = self.target = None  # transports
        self.waiting = collections.deque()
        self.queued = 0  # bytes of those
        self.free_at = 0.0  # when the last message will have passed
        self.is_blocked = False
        self.is_cut = False  # nothing more may follow

    def on_data(self, data):
        self.buffer += data
        self.update()

    def update(self):
        """Passes on what is here, and reads on, if it may."""
        if self.source is None or self.source.is_closing():
            return
        if self.target is None or self.way in self.wire.silent_ways:
            return self.source.pause_reading()
        while message := self.next_message():
            self.wire.pass_on(self, *message)
        if self.is_blocked or self.queued > QUEUED_BYTES_MAX:
            self.source.pause_reading()
        else:
            self.source.resume_reading()

    def next_message(self):
        """(bytes, whether it is a line of greeting), or None."""
        is_line = not self.wire.is_secured and self.lines > 0
        if self.wire.is_secured:
            size = TLS_HEADER_BYTES + int.from_bytes(self.buffer[3:5], "big")
        elif is_line:
            size = self.buffer.find(b"\n") + 1
            self.lines -= 1 if size else 0
        elif self.carries:  # the second byte is what it is, the eighth word its number of values
            width = VALUE_BYTES.get(self.buffer[1], 0) if len(self.buffer) > 1 else 0
            size = FRAME_HEAD_BYTES + width * int.from_bytes(self.buffer[56:64], "little")
        else:
            size = RECORD_HEADER_BYTES + int.from_bytes(self.buffer[:4], "big")
        if size == 0 or size > len(self.buffer):
            return None
        message = bytes(self.buffer[:size])
        del self.buffer[:size]
        if is_line and b'"carrier":' in message and b'"carrier":0' not in message:
            self.carries = self.other.carries = True
        return message, is_line

    def send(self, message):
        loop = self.wire.loop
        now = loop.time()
        wire = self.wire
        due = now + wire.latency + wire.random.uniform(0, wire.jitter)
        if wire.bytes_per_second:
            due = max(self.free_at, now) + len(message) / wire.bytes_per_second + wire.latency
            self.free_at = due - wire.latency
        else:
            self.free_at = due = max(due, self.free_at)  # nobody overtakes
        if due <= now and not self.waiting:
            return self.write(message)
        self.queued += len(message)
        self.waiting.append(message)
        loop.call_at(due, self.deliver)

    def deliver(self):
        """The oldest: a loop may call those of one time in any order."""
        if not self.waiting:
            return  # the connection has ended
        message = self.waiting.popleft()
        self.queued -= len(message)
        self.write(message)
        self.update()

    def write(self, message):
        if self.target and not self.is_cut and not self.target.is_closing():
            self.target.write(message)


class End(asyncio.Protocol):
    """One of the two sockets of a connection."""

    def __init__(self, connection, incoming, outgoing):
        self.connection, self.incoming, self.outgoing = connection, incoming, outgoing

    def connection_made(self, transport):
        if self.connection.is_over:
            return transport.abort()
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.incoming.source = self.outgoing.target = transport
        self.incoming.update()

    def data_received(self, data):
        self.incoming.on_data(data)

    def pause_writing(self):
        self.outgoing.is_blocked = True
        self.outgoing.update()

    def resume_writing(self):
        self.outgoing.is_blocked = False
        self.outgoing.update()

    def connection_lost(self, _):
        self.connection.end()


class Connection:
    def __init__(self, wire):
        self.there, self.back = Direction(wire, 2, "there"), Direction(wire, 1, "back")
        self.there.other, self.back.other = self.back, self.there
        self.wire = wire
        self.is_over = False
        wire.connections.add(self)

    def end(self, reset=False):
        self.is_over = True
        self.wire.connections.discard(self)
        for way in () if reset else (self.there, self.back):
            while way.waiting:  # what was said before the end comes before it
                way.write(way.waiting.popleft())
        for transport in (self.there.source, self.there.target):
            if transport is None or transport.is_closing():
                continue
            if reset:
                transport.get_extra_info("socket").setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                transport.abort()
            else:
                transport.close()


class Wire:
    """From `port` to the port `target` of this machine, both ways; made by `Wires`."""

    def __init__(self, loop, target, seed, is_secured):
        self.is_secured = is_secured
        self.loop = loop
        self.target = target
        self.random = random.Random(seed)
        self.connections = set()
        self.latency = self.jitter = 0.0  # seconds
        self.bytes_per_second = 0  # each way; 0: without a limit
        self.silent_ways = ()
        self.flips_left = 0
        self.flip_chance = 0.0  # of a record
        self.flips_greetings = False  # too
        self.cut_is_due = None  # "reset" or "close" in the middle of the next record
        self.flip_count = self.cut_count = self.connection_count = 0

    async def listen(self):
        self.server = await self.loop.create_server(self.accept, "127.0.0.1", 0)
        self.port = self.server.sockets[0].getsockname()[1]

    def accept(self):
        self.connection_count += 1
        connection = Connection(self)
        end = End(connection, connection.there, connection.back)
        self.loop.create_task(self.dial(connection))
        return end

    async def dial(self, connection):
        try:
            await self.loop.create_connection(
                lambda: End(connection, connection.back, connection.there), "127.0.0.1",
                self.target)
        except OSError:
            return connection.end()
        connection.there.update()

    def pass_on(self, direction, message, is_line):
        if self.cut_is_due and not is_line:
            reset, self.cut_is_due = self.cut_is_due == "reset", None
            self.cut_count += 1
            direction.write(message[:len(message) // 2])
            # The first half is to arrive before the end does.
            direction.is_cut = True
            connection = next(x for x in self.connections if direction in (x.there, x.back))
            self.loop.call_later(0.01, connection.end, reset)
            return
        may_flip = self.flips_left and (self.flips_greetings or not is_line)
        if may_flip and self.random.random() < self.flip_chance:
            message = self.flipped(message, len(message) - is_line)  # a line stays a line
        direction.send(message)

    def flipped(self, message, size):
        self.flips_left -= 1
        self.flip_count += 1
        result = bytearray(message)
        result[self.random.randrange(size)] ^= 1 << self.random.randrange(8)
        return bytes(result)


class Wires:
    """All wires of a test, on a thread of their own. Use it in a `with`."""

    def __init__(self, seed):
        self.seed = seed
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.wires = []

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.call(self.end_all)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    def call(self, function):
        """Calls it on the thread of the wires, and waits."""
        async def called():
            return function()
        return asyncio.run_coroutine_threadsafe(called(), self.loop).result(30)

    def end_all(self):
        for wire in self.wires:
            wire.server.close()
            for connection in list(wire.connections):
                connection.end(reset=True)

    def new(self, target, is_secured=False):
        """A wire to this port."""
        wire = Wire(self.loop, target, self.seed + len(self.wires), is_secured)
        asyncio.run_coroutine_threadsafe(wire.listen(), self.loop).result(30)
        self.wires.append(wire)
        return wire

    def break_all(self, wires, reset):
        """How many connections were broken."""
        def end():
            broken = [x for wire in wires for x in wire.connections]
            for connection in broken:
                connection.end(reset)
            return len(broken)
        return self.call(end)

    def silence(self, wires, is_silent, ways=("there", "back")):
        def change():
            for wire in wires:
                wire.silent_ways = ways if is_silent else ()
                for connection in wire.connections:
                    connection.there.update()
                    connection.back.update()
        self.call(change)
