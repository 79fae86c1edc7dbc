"""The work of the surprisal child: sentences are read word by word, as ``rerank surprisal`` reads
them, one by each lane."""

from __future__ import annotations

import contextlib
import json
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from reranker.checkpoints.ensemble_file import named_models
from reranker.errors import CheckpointError, InputError, RerankError
from reranker.process.cancellation import Stopped
from reranker.process.machine import periodic_memory_return
from reranker.service.children.child import Lane, Request, serve
from reranker.service.children.surprisal import ReadAnswer, ToRead

if TYPE_CHECKING:
    from reranker.plugins.surprisal.forward import ForwardModels


class _ForwardModels:
    """The model that was last asked for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sha256 = ""
        self._models: ForwardModels | None = None

    def models(self, asked: ToRead) -> ForwardModels:
        """Return the models. Raises RerankError if a file that the service has loaded is gone."""
        from reranker.checkpoints.members import load_member
        from reranker.plugins.surprisal.forward import ForwardModels

        with self._lock:
            if self._models is not None and self._sha256 == asked.sha256:
                return self._models
            paths: tuple[Path, ...] = ()
            with contextlib.suppress(InputError):  # it names a file that is gone, and its folder
                paths = named_models(asked.models).paths
            for path in paths:
                if path.name == asked.model:
                    with contextlib.suppress(CheckpointError):  # another of that name
                        self._models = ForwardModels([load_member(path, asked.sha256)])
                        self._sha256 = asked.sha256
                        return self._models
        raise RerankError(f"{asked.model} has changed since it was loaded")


def lanes(count: int) -> list[Lane]:
    import reranker.plugins.surprisal.table  # noqa: F401  which takes seconds, before the child beats

    loaded = _ForwardModels()
    return [partial(_read, loaded) for _ in range(count)]


def _read(loaded: _ForwardModels, request: Request) -> ReadAnswer:
    """Read the request's sentences. Raises RerankError if the model cannot be loaded again, and
    Stopped if cancelled."""
    from reranker.plugins.surprisal.beam import Width
    from reranker.plugins.surprisal.surprisal import SurprisalReader
    from reranker.plugins.surprisal.table import about, data

    asked: ToRead = request.value
    if request.is_cancelled:
        raise Stopped
    models = loaded.models(asked)
    reader = SurprisalReader(models, Width(asked.beam), asked.unit, asked.rows)
    read = reader.read_one(asked.number, asked.sentence, request)
    content = data(read)
    del content["file"]  # every text of a request has the same name
    return ReadAnswer(about(reader), json.dumps(content, ensure_ascii=False).encode())


if __name__ == "__main__":
    serve(lanes, periodic_memory_return())
