"""Warm processes: `rerank`, and children of the service and of multiprocessing, begin as forks of a
process that has imported everything, torch too, and not as fresh interpreters.

Imports take seconds, a fork milliseconds. Pytest starts one *warm* process, when it first needs it.
Its workers, under -n, are forks of that as well, and like each server they have a warm process of
their own, which is a fork of them. A forked process is a true child of the one that asked for it,
as if that had started Python: its number, its signals and its status are real, and so are its
arguments, environment, folder and files. In a shell, tests/bin/relay.py asks.

Fresh interpreters run all other programs, as well as other `python -c`, and whatever needs another
environment of the interpreter; under ``fresh()`` everything.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import fcntl
import functools
import gc
import io
import itertools
import marshal
import multiprocessing.util
import os
import pkgutil
import platform
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import traceback
import weakref
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, NoReturn

from tests.bin.relay import FORWARDED, ask
from tests.checkout import RERANK, ROOT

# Linux's number of the system call clone; elsewhere every process is fresh.
_CLONE = {"x86_64": 56, "aarch64": 220}.get(platform.machine()) if sys.platform == "linux" else None
_CLONE_PARENT = 0x8000

PROGRAM = (sys.executable, "-P", "-m", "tests.program")
"""The beginning of a command that runs the program in its first argument, warm."""

# Beginnings of the variables that interpreters and libraries read when they start.
_READ_AT_START = ("PYTHON", "LD_", "LC_", "LANG", "OMP_", "MKL_", "OPENBLAS_", "TORCH", "TZ")
# torch sets these when it trains.
_SET_BY_TORCH = ("TORCHINDUCTOR_CACHE_DIR", "TORCHELASTIC_SIGNALS_TO_HANDLE")
# These import other packages, large ones and ones that start threads.
_NOT_IMPORTED = tuple(
    f"reranker.plugins.{name}" for name in ("cluster", "other_parsers", "pipelines")
)
# The program that a worker of pytest -n starts with.
_WORKER = "import sys;exec(eval(sys.stdin.readline()))"
_OURS = ("benchmarks", "reranker", "tests")
_MOST_FILES = 500  # numbers of files in a forked process
_TITLE = 8192  # bytes for its command line, which /proc shows


class _Asker:
    """The start of this process's children, warm where that is possible."""

    def __init__(self) -> None:
        self.is_fresh = _CLONE is None
        self._connection: socket.socket | None = None
        self._wait: Callable[[], object]
        self._lock = threading.Lock()
        self._real = subprocess._fork_exec  # type: ignore[attr-defined]
        self._real_spawn = multiprocessing.util.spawnv_passfds

    def begin(self) -> None:
        """Start all children of this process from now on."""
        subprocess._fork_exec = self._fork_exec  # type: ignore[attr-defined]
        multiprocessing.util.spawnv_passfds = self._spawn  # type: ignore[assignment]

    def connection(self) -> socket.socket:
        """Return the connection to the warm process, which is started if need be."""
        if self._connection is None:
            self._connection, theirs = socket.socketpair()
            listener = _listener()
            files = [theirs.fileno(), listener.fileno()]
            code = f"from tests.warm import serve; serve({files[0]}, {files[1]})"
            command = [sys.executable, "-P", "-c", code, " " * _TITLE]
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=files)
            self._wait = process.wait
            theirs.close()
            listener.close()
        return self._connection

    def fork(self, *, for_shells: bool) -> None:
        """Make a fork of this process, as it is now, the warm one."""
        self._connection, theirs = socket.socketpair()
        listener = _listener() if for_shells else None
        process = os.fork()
        if process == 0:
            self._connection.close()
            null = os.open(os.devnull, os.O_RDWR)
            for number in range(3):
                os.dup2(null, number)
            _serve(theirs, listener)
        self._wait = functools.partial(os.waitpid, process, 0)
        theirs.close()
        if listener is not None:
            listener.close()
        self.begin()

    def end(self) -> None:
        """End the warm process."""
        if self._connection is not None:
            self._connection.close()
            self._wait()

    def _fork_exec(self, *given: Any) -> int:
        """Do as Popen's function of this name does."""
        words, _, closes, kept, folder, environment = given[:6]
        arguments = [os.fsdecode(word) for word in words]
        is_new_session, group, *other = given[15:22]
        is_plain = closes and not is_new_session and all(each in (None, -1) for each in other)
        if self.is_fresh or not is_plain or _command(arguments) is None:
            return int(self._real(*given))
        files = {number: number for number in kept if number != given[13]}
        for number, pipe in enumerate((given[6], given[9], given[11])):
            files[number] = number if pipe == -1 else pipe
        variables = dict(os.environ)
        if environment is not None:
            variables = dict(os.fsdecode(each).split("=", 1) for each in environment)
        folder = os.path.join(os.getcwd(), os.fsdecode(folder or ""))
        with self._lock:
            process = ask(self.connection(), arguments, variables, folder, files, group)
        return process or int(self._real(*given))

    def _spawn(self, path: bytes, words: Sequence[Any], kept: Sequence[int]) -> int:
        """Do as multiprocessing's function of this name does."""
        arguments = [os.fsdecode(word) for word in words]
        process = 0
        if not self.is_fresh and _command(arguments) is not None:
            files = {number: number for number in (0, 1, 2, *kept)}
            with self._lock:
                process = ask(self.connection(), arguments, os.environ, os.getcwd(), files)
        return process or int(self._real_spawn(path, words, kept))


def _listener() -> socket.socket:
    """Return where shells ask, whose name they find in their environment."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("")  # Linux gives it a name
    listener.listen()
    os.environ["WARM_PROCESS"] = listener.getsockname()[1:].decode()
    return listener


asker = _Asker()


@contextlib.contextmanager
def fresh() -> Iterator[None]:
    """Start fresh interpreters meanwhile."""
    before, asker.is_fresh = asker.is_fresh, True
    name = os.environ.pop("WARM_PROCESS", None)
    try:
        yield
    finally:
        asker.is_fresh = before
        if name is not None:
            os.environ["WARM_PROCESS"] = name


class _Command(NamedTuple):
    """A module or script of this checkout, or multiprocessing's code, and its arguments."""

    module: str
    script: str
    arguments: list[str]
    code: str = ""


def _command(words: list[str]) -> _Command | None:
    """Return the command that a process would run, if it is one of this checkout."""
    if words[0] == RERANK:
        return _Command("reranker", "", words[1:])
    match [*itertools.dropwhile(lambda word: word in ("-B", "-P"), words[1:])]:
        case ["-m", module, *rest] if module.partition(".")[0] in (
            "benchmarks",
            "reranker",
            "tests",
        ):
            command = _Command(module, "", rest)
        case [script, *rest] if script.startswith(f"{ROOT / 'eval'}{os.sep}"):
            command = _Command("", script, rest)
        case ["-c", code, *rest] if code.startswith("from multiprocessing.spawn import "):
            command = _Command("", "", rest, code)
        case ["-u", "-c", code] if code == _WORKER:
            command = _Command("", "", [], code)
        case _:
            return None
    return command if words[0] == sys.executable else None


# What follows runs in the warm process and in its forks.


class _Start(NamedTuple):
    """A process to be started, as ``ask`` describes it."""

    arguments: list[str]
    environment: dict[str, str]
    folder: str
    numbers: list[int]
    ignored: list[int]
    group: int
    files: list[int]
    """This process's, in the order of ``numbers``."""

    @property
    def must_be_fresh(self) -> bool:
        """Return whether the interpreter would differ in more than a `sitecustomize`."""
        ours, theirs = (
            {name: text for name, text in each.items() if name.startswith(_READ_AT_START)}
            for each in (os.environ, self.environment)
        )
        folders = {*_python_path(ours)} ^ {*_python_path(theirs)}
        for name in ("PYTHONPATH", *_SET_BY_TORCH):
            ours.pop(name, None)
            theirs.pop(name, None)
        return ours != theirs or any(_has_modules(Path(folder)) for folder in folders)


def _python_path(environment: dict[str, str]) -> list[str]:
    return [each for each in environment.get("PYTHONPATH", "").split(os.pathsep) if each]


def _has_modules(folder: Path) -> bool:
    """Return whether anything can be imported but `sitecustomize`."""
    rest = {each.name for each in folder.iterdir()} - {"sitecustomize.py", "__pycache__"}
    return any((folder / each).is_dir() or each.endswith((".py", ".so")) for each in rest)


def serve(asked: int, listening: int) -> NoReturn:
    """Import everything, then fork for whoever asks, until the process that started this ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for pytest
    _import_all("reranker")
    if "torch" in sys.modules:
        dynamo = import_module("torch._dynamo")  # which any optimiser would import, for 3 s
        # At its end each process would spend 0.1 s on these.
        atexit.unregister(dynamo.utils.dump_compile_times)
    for each in [*weakref.finalize._registry]:  # type: ignore[attr-defined]
        each.atexit = False
    if len(os.listdir("/proc/self/task")) > 1:
        raise RuntimeError("an import has started a thread, which forks would lack")
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for relays
    _serve(socket.socket(fileno=asked), socket.socket(fileno=listening))


def _import_all(name: str) -> None:
    for module in pkgutil.iter_modules(getattr(import_module(name), "__path__", ()), f"{name}."):
        if not module.name.startswith(_NOT_IMPORTED) and not module.name.endswith("__main__"):
            _import_all(module.name)


def _serve(asked: socket.socket, listener: socket.socket | None = None) -> NoReturn:
    sources = [asked] if listener is None else [asked, listener]
    while True:
        if asked in select.select(sources, [], [])[0]:
            start = _received(asked)
            if start is None:
                os._exit(0)
            if start.must_be_fresh:
                asked.send(b"0")
            elif _sibling() == 0:
                _run(start, asked)
            for file in start.files:
                os.close(file)
        elif listener is not None:
            connection, _ = listener.accept()
            if os.fork() == 0:
                _relay(connection)
            connection.close()


def _received(connection: socket.socket) -> _Start | None:
    word, files, _, _ = socket.recv_fds(connection, 1, 200)
    if not word:
        return None
    with open(files[0], "rb") as content:
        content.seek(0)
        return _Start(*[*marshal.load(content), files[1:]])


def _sibling() -> int:
    """Start a fork as os.fork does, but as a child of this process's parent."""
    python = ctypes.pythonapi
    python.PyOS_BeforeFork()
    process = int(ctypes.PyDLL(None).syscall(_CLONE, _CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0))
    if process == 0:
        python.PyOS_AfterFork_Child()
    else:
        python.PyOS_AfterFork_Parent()
    return process


def _relay(connection: socket.socket) -> NoReturn:
    """Run a shell's command in a fork that ends with its process, and tell that the status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    start = _received(connection)
    if start is None or start.must_be_fresh:
        os._exit(0)
    process = os.fork()
    if process == 0:
        _run(start, connection)
    for file in start.files:
        os.close(file)
    ended = os.pidfd_open(process)
    if ended not in select.select([connection.fileno(), ended], [], [])[0]:
        os.kill(process, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    with contextlib.suppress(OSError):
        connection.send(b"%d" % status)
    os._exit(0)


def _run(start: _Start, connection: socket.socket) -> NoReturn:
    """Run the command as that process, and end as an interpreter does."""
    if start.group != -1:
        os.setpgid(0, start.group)
    connection.send(b"%d" % os.getpid())
    for number in (signal.SIGCHLD, *FORWARDED):
        usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        signal.signal(number, signal.SIG_IGN if number in start.ignored else usual)
    _take_files(start)
    os.chdir(start.folder)
    os.environ.clear()
    os.environ.update(start.environment)
    code: object = 0
    try:
        _run_command(start.arguments)
    except SystemExit as end:
        code = end.code or 0
    except BaseException as error:
        traceback.print_exc()
        if isinstance(error, KeyboardInterrupt):
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGINT)
        code = 1
    if not isinstance(code, int):
        print(code, file=sys.stderr)
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in filter(None, (sys.stdout, sys.stderr)):
        stream.flush()
    os._exit(code & 0xFF)  # to free all memory would take half a second


def _take_files(start: _Start) -> None:
    """Give the process its files, and no others, under the numbers that they should have."""
    files = [fcntl.fcntl(file, fcntl.F_DUPFD, _MOST_FILES) for file in start.files]
    os.closerange(0, _MOST_FILES)
    for number, file in zip(start.numbers, files, strict=True):
        os.dup2(file, number)
    os.closerange(_MOST_FILES, 2 * _MOST_FILES)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        usual, stream = getattr(sys, f"__{name}__"), None
        if number in start.numbers:
            buffering = 0 if isinstance(usual.buffer, io.FileIO) else -1
            mode = "wb" if number else "rb"
            binary: Any = open(number, mode, buffering, closefd=False)  # noqa: SIM115
            getattr(binary, "raw", binary).name = f"<{name}>"
            options = usual.encoding, usual.errors, "\n", binary.isatty(), usual.write_through
            stream = io.TextIOWrapper(binary, *options)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _run_command(words: list[str]) -> None:
    command = _command(words)
    assert command is not None
    module, script, arguments, code = command
    if words[0] == RERANK:
        words = [sys.executable, "-P", "-m", module, *arguments]
    sys.orig_argv[:], sys.argv[:] = words, [script or ("-c" if code else "-m"), *arguments]
    _set_title(words)
    folders = _python_path(dict(os.environ))
    sys.path[:0] = [folder for folder in folders if folder not in sys.path]
    if "-P" not in words[:2]:
        sys.path.insert(0, os.path.dirname(script) or os.getcwd())
    if any(os.path.exists(os.path.join(folder, "sitecustomize.py")) for folder in folders):
        sys.modules.pop("sitecustomize", None)
        import_module("sitecustomize")
    if code == _WORKER:
        asker.fork(for_shells=True)
        if "anyio" in sys.modules:  # a plug-in of pytest, too, and pytest would rewrite its code
            sys.modules["anyio"].__doc__ = "PYTEST_DONT_REWRITE"
    elif script or arguments[:1] == ["serve"] or "--nproc" in arguments:
        asker.fork(for_shells=False)
    sys.modules["__main__"] = ModuleType("__main__")
    if code:
        exec(code)
    elif script:
        runpy.run_path(script, run_name="__main__")
    else:
        sys.modules.pop(module, None)
        runpy._run_module_as_main(module)  # type: ignore[attr-defined]


def _set_title(words: Sequence[str]) -> None:
    """Make /proc name the command, as far as there is room."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    begin, end = map(int, fields[45:47])
    title = "\0".join([*words, ""]).encode("utf-8", "surrogateescape")
    ctypes.memmove(begin, title[: end - begin].ljust(end - begin, b"\0"), end - begin)
