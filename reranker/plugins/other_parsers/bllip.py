"""The BLLIP parser (Charniak 2000; Charniak and Johnson 2005), by its Python package, in processes
of its own: one that crashes or hangs loses only the sentence it was given."""

from __future__ import annotations

import importlib.util
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from reranker.errors import InputError
from reranker.nbest import NBest, ReadOptions
from reranker.nbest.data import Sentence
from reranker.parsers.lists import given_lines, printed_lists
from reranker.parsers.parser import CANDIDATES, ParserSettings
from reranker.parsers.program import Conversation, Ended, Unread
from reranker.plugins.other_parsers.bllip_model import bllip_model
from reranker.process.cancellation import Stopped
from reranker.process.forks import restart_after_fork

_STARTING_SECONDS = 120.0  # to load its model, beside others that do
_LISTS = ReadOptions("jsonl")
_WORKER = Path(__file__).with_name("bllip_worker.py")


class BllipParser:
    """A parser with as many processes, each with the model, as there are threads asking at once."""

    batch_sizes = (1,)
    root = "S1"

    def __init__(self, settings: ParserSettings) -> None:
        """Raise InputError without bllipparser or a model."""
        if importlib.util.find_spec("bllipparser") is None:
            raise InputError(
                "the parser bllip needs the package bllipparser: pip install "
                "'parse-reranker[bllip]' (this compiles it and needs a C++ compiler); or "
                "choose another parser with --parser or --parser-command"
            )
        model = bllip_model(settings.model).folder()
        numbers = (settings.candidates or CANDIDATES, settings.overparsing)
        # -P: nothing is imported from the working directory.
        program = [sys.executable, "-P", str(_WORKER)]
        self._command = [*program, str(model), *map(str, numbers)]
        self._seconds = settings.seconds
        self._is_stopped = False
        self._begin()
        restart_after_fork(self, BllipParser._begin)

    def _begin(self) -> None:
        """Start without processes: those of the parent this process was forked from serve the
        parent alone."""
        self._lock = threading.Lock()
        self._idle: list[Conversation] = []
        self._busy: set[Conversation] = set()

    @staticmethod
    def model_identity(settings: ParserSettings) -> str:
        """Return the SHA-256 of the packed model, or its folder. Raises InputError without one."""
        path, sha256 = bllip_model(settings.model)
        return sha256 or str(path)

    def parse(self, sentences: Sequence[Sentence]) -> list[NBest | str]:
        """Return for each sentence its list, or the reason why there is none. Raises InputError if
        the parser cannot load its model, Stopped after ``stop``."""
        return [self._parse(sentence) for sentence in sentences]

    def stop(self) -> None:
        with self._lock:
            self._is_stopped = True
            for worker in self._busy:
                worker.kill()
            while self._idle:
                self._idle.pop().end()

    def _parse(self, sentence: Sentence) -> NBest | str:
        line, worker = given_lines([sentence]), self._worker()
        try:
            try:
                printed = worker.ask(line, self._seconds)
            except Unread:  # killed while it was idle, say
                self._drop(worker)
                worker = self._worker(is_new=True)
                printed = worker.ask(line, self._seconds)
        except Ended as ended:
            self._drop(worker)
            return str(ended)
        self._release(worker)
        lists = printed_lists(printed, [sentence], _LISTS)
        return lists if isinstance(lists, str) else lists[0]

    def _worker(self, is_new: bool = False) -> Conversation:
        """Return an idle worker, or a new one if there is none or if ``is_new``."""
        with self._lock:
            if self._is_stopped:
                raise Stopped
            is_new = is_new or not self._idle
            worker = Conversation(self._command) if is_new else self._idle.pop()
            self._busy.add(worker)
        if worker.is_ready:
            return worker
        try:
            worker.listen(_STARTING_SECONDS)
        except Ended as ended:
            self._drop(worker)
            raise InputError(f"the parser bllip: {ended}") from None
        return worker

    def _release(self, worker: Conversation) -> None:
        with self._lock:
            self._busy.discard(worker)
            if not self._is_stopped:
                self._idle.append(worker)
                return
        worker.end()
        raise Stopped

    def _drop(self, worker: Conversation) -> None:
        """Forget a worker that ended. Raises Stopped if ``stop`` ended it."""
        with self._lock:
            self._busy.discard(worker)
            if self._is_stopped:
                raise Stopped
