"""Clients that nobody would want. Each kind has an address of its own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import socket
import struct
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

from benchmarks.service_load.bombs import BOMBS, MALFORMED
from benchmarks.service_load.kind import LATEST, Question, is_right

HUNG_UP = "hung up"
CLOSED = "closed on"
_PIECE = 65_536
Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Material(NamedTuple):
    """The requests of the attackers in one process."""

    huge: Sequence[Question]
    medium: Sequence[Question]
    chance: random.Random


class Caller(NamedTuple):
    """A client that opens connections from one address."""

    address: str
    port: int

    @contextlib.asynccontextmanager
    async def connected(self, buffer: int | None = None) -> AsyncIterator[Stream]:
        """Yield a connection. ``buffer``: how many bytes the system takes before they are read."""
        connection = socket.socket()
        connection.setblocking(False)
        if buffer is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        writer = None
        try:
            connection.bind((self.address, 0))
            loop = asyncio.get_running_loop()
            await loop.sock_connect(connection, ("127.0.0.1", self.port))
            reader, writer = await asyncio.open_connection(sock=connection, limit=buffer or _PIECE)
            yield reader, writer
        finally:
            if writer is not None:
                writer.transport.abort()
            connection.close()


class Attack(NamedTuple):
    """A number of clients at once, each with a pause after every try, of so many seconds at
    most."""

    clients: int
    pause: float
    once: Callable[[Caller, Material], Awaitable[str]]


def head(path: str, length: int, media: str = "text/plain") -> bytes:
    return (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {media}\r\n"
        f"Content-Length: {length}\r\nConnection: close\r\n\r\n"
    ).encode()


async def answer_to(stream: Stream, request: bytes) -> tuple[str, bytes]:
    """Return the status (with the error's code, for a 5xx) and the body; CLOSED if no answer
    came."""
    reader, writer = stream
    sending = asyncio.create_task(_send(writer, request))
    try:
        answer = await reader.read(-1)
    except ConnectionError:
        return CLOSED, b""
    finally:
        sending.cancel()
    start, _, body = answer.partition(b"\r\n\r\n")
    status = start[9:12].decode("ascii", "replace")
    if status.startswith("5"):
        status += " " + body.partition(b'"code":"')[2].partition(b'"')[0].decode("ascii", "replace")
    return status or CLOSED, body


async def _send(writer: asyncio.StreamWriter, request: bytes) -> None:
    with contextlib.suppress(ConnectionError):
        for place in range(0, len(request), _PIECE):
            writer.write(request[place : place + _PIECE])
            await writer.drain()


async def huge(caller: Caller, material: Material) -> str:
    question = material.chance.choice(material.huge)
    async with caller.connected() as stream:
        request = head(question.path, len(question.body)) + question.body
        status, body = await answer_to(stream, request)
    return "200 but wrong" if status == "200" and not is_right(body, question.rows) else status


async def hang_up(caller: Caller, material: Material) -> str:
    """Hang up in the middle of sending, of waiting or of reading; by a reset every other time."""
    chance = material.chance
    when = chance.choice(["sending", "waiting", "reading"])
    question = chance.choice(material.medium if when == "reading" else material.huge)
    request = head(question.path, len(question.body)) + question.body
    if when == "sending":
        request = request[: chance.randrange(len(request))]
    async with caller.connected() as (reader, writer):
        await _send(writer, request)
        if when == "reading":
            await reader.read(100)
        else:
            await asyncio.sleep(chance.uniform(0, 2))
        if chance.random() < 0.5:
            now = struct.pack("ii", 1, 0)
            with contextlib.suppress(OSError):  # the service was first
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, now)
    return HUNG_UP


async def drip(caller: Caller, material: Material) -> str:
    """Send a byte now and then, mostly of a body, sometimes of the headers."""
    chance = material.chance
    start = head("/rerank", 1000)
    if chance.random() < 0.1:
        start = start[: chance.randrange(1, len(start) - 4)]
    async with caller.connected() as stream:
        _, writer = stream
        answering = asyncio.create_task(answer_to(stream, start))
        while not answering.done():
            await asyncio.wait({answering}, timeout=chance.uniform(0.5, 3))
            with contextlib.suppress(ConnectionError):
                writer.write(b"x")
        return answering.result()[0]


async def read_slowly(caller: Caller, material: Material) -> str:
    """Read a kilobyte a second of many answers, or of one with a score for every token."""
    chance = material.chance
    request = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50
    if chance.random() < 0.5:
        question = chance.choice(material.medium)
        path = f"{question.path}?return_token_scores=true"
        request = head(path, len(question.body)) + question.body
    until = time.monotonic() + 60
    async with caller.connected(buffer=2048) as (reader, writer):
        await _send(writer, request)
        while time.monotonic() < until:
            if not await reader.read(1024):
                return CLOSED
            await asyncio.sleep(1)
    return HUNG_UP


async def bomb(caller: Caller, material: Material) -> str:
    """Send a bomb, mostly whole; one client in four hangs up half way."""
    made = BOMBS[material.chance.choice(list(BOMBS))]()
    request = head(made.path, len(made.body), made.media) + made.body
    async with caller.connected() as stream:
        if material.chance.random() < 0.25:
            await _send(stream[1], request[: len(request) // 2])
            return HUNG_UP
        return (await answer_to(stream, request))[0]


async def malformed(caller: Caller, material: Material) -> str:
    request = MALFORMED[material.chance.choice(list(MALFORMED))]
    async with caller.connected() as stream:
        return (await answer_to(stream, request))[0]


async def flood(caller: Caller, material: Material) -> str:
    """Open a connection and keep it for nothing, or close it at once, or ask for something
    small."""
    chance = material.chance
    async with caller.connected() as stream:
        what = chance.choice(["nothing", "nothing", "page", "list"])
        if what == "nothing":
            await asyncio.sleep(chance.choice([0, chance.uniform(0, 5)]))
            return HUNG_UP
        request = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        if what == "list":
            body = b"1\tx\n-1\n(S1 (NP (NN a)))\n\n"
            request = head("/rerank", len(body)) + body
        return (await answer_to(stream, request))[0]


ATTACKS: Mapping[str, Attack] = {
    "huge requests": Attack(3, 0.5, huge),
    "hang-ups": Attack(6, 1.0, hang_up),
    "drips": Attack(128, 1.0, drip),
    "slow readers": Attack(16, 1.0, read_slowly),
    "bombs": Attack(2, 1.0, bomb),
    "malformed": Attack(2, 0.5, malformed),
    "floods": Attack(100, 2.0, flood),
}
GROUPS: Sequence[Sequence[str]] = (
    ("huge requests", "hang-ups"),
    ("drips", "slow readers"),
    ("bombs",),
    ("malformed", "floods"),
)
"""Which attacks share a process."""


def address_of(name: str) -> str:
    return f"127.0.0.{66 + list(ATTACKS).index(name)}"


def storm(
    names: Sequence[str], material: Material, port: int, since: float, until: float
) -> dict[str, Counter[str]]:
    """Attack from ``since`` to ``until`` (by time.monotonic()); return the outcomes by attack."""
    with contextlib.suppress(PermissionError):
        os.nice(19)  # elsewhere, they would not take the service's processors
    outcomes: dict[str, Counter[str]] = {name: Counter() for name in names}

    async def keep_on(name: str) -> None:
        attack, caller = ATTACKS[name], Caller(address_of(name), port)
        await asyncio.sleep(since - time.monotonic() + material.chance.uniform(0, 2 * attack.pause))
        while True:
            try:
                async with asyncio.timeout(LATEST):
                    outcome = await attack.once(caller, material)
            except TimeoutError:
                outcome = f"no answer in {LATEST:g} s"
            except asyncio.CancelledError:
                outcomes[name]["unfinished at the end"] += 1
                raise
            except OSError as error:
                outcome = CLOSED if isinstance(error, ConnectionError) else str(error)
            outcomes[name][outcome] += 1
            await asyncio.sleep(material.chance.uniform(0, 2 * attack.pause))

    async def all_of_them() -> None:
        clients = (keep_on(name) for name in names for _ in range(ATTACKS[name].clients))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(until - time.monotonic()):
                await asyncio.gather(*clients)

    asyncio.run(all_of_them())
    return outcomes
