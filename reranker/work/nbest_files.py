"""N-best files as a source of lists."""

from __future__ import annotations

import itertools
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from typing import cast

from reranker.errors import InputError
from reranker.files.opening import expanded, input_digest, refuse_second_stdin
from reranker.files.visible import shown_id
from reranker.nbest import NBest, ReadOptions, read_nbest
from reranker.nbest.guess import with_hint
from reranker.ranking import Ranking
from reranker.work.loop import Identity, Source

logger = logging.getLogger(__name__)


class NBestLists(Source[NBest]):
    """The lists of n-best files, pooled sentence by sentence if there are several."""

    def __init__(
        self,
        names: Sequence[str],
        options: ReadOptions = ReadOptions(),
        describe: Callable[[dict[str, str]], None] | None = None,
    ) -> None:
        """Open files, or quoted patterns of them, and read the first list, so that a wrong file is
        reported before models are loaded. ``describe`` is called with each file's name and format,
        which are otherwise logged. Raises InputError."""
        self._files, self._options = expanded(names), options
        refuse_second_stdin(self.inputs)
        self._opened = read_nbest(*self._files, options=options)
        for file in self._opened.files:
            if describe is None:
                logger.info("%s: format %s", file.name, file.description)
            else:
                describe({"name": file.name, "format": file.description})
        first = next(self._opened, None)
        if first is None:
            raise InputError(f"{', '.join(names)}: no n-best lists")
        super().__init__(with_hint(itertools.chain([first], self._opened), logger.info))

    @property
    def inputs(self) -> list[str]:
        """Return the n-best files, and the file with the sentences."""
        return [*self._files, *_tokens(self._options)]

    @property
    def size(self) -> int | None:
        return self._opened.size

    @property
    def position(self) -> int:
        return self._opened.position

    def identity(self) -> Identity:
        """Return everything on which the lists depend; the content of standard input is not
        known."""
        return {
            "nbest": [input_digest(path) for path in self._files],
            **reading_identity(self._options),
            "restore": self._options.restore,
        }

    def read_ahead(self) -> Iterator[NBest] | None:
        """Read the lists a first time so that they can be checked before scoring; None if a file
        can be read only once."""
        if not all(map(os.path.isfile, self.inputs)):
            return None
        return read_nbest(*self._files, options=self._options, warn=lambda _: None)

    def close(self) -> None:
        """Close the files."""
        self._opened.close()


def reading_identity(options: ReadOptions) -> Identity:
    """Return the options on which lists depend, as plain data."""
    tokens = _tokens(options)
    return {
        "format": options.format,
        "tokens": input_digest(tokens[0]) if tokens else None,
        "repair": options.repair,
        "beam": options.beam,
    }


def _tokens(options: ReadOptions) -> list[str]:
    """Return the file with the sentences, which commands name by a string."""
    return [cast(str, options.tokens)] if options.tokens else []


def log_rejected(candidates: NBest | Ranking, number: int) -> None:
    """Log each candidate of sentence ``number``, from 1, that cannot be used."""
    for rejected in candidates.rejected:
        logger.warning(
            "%s:%s: candidate %d of list %s rejected, %s: %s",
            rejected.file,
            rejected.line,
            rejected.index + 1,
            shown_id(candidates.id, number),
            rejected.code,
            rejected.message,
        )
