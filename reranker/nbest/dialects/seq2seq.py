"""Beams of sequence-to-sequence parsers: linearised trees, one per line, and no ids.

The head of the file shows how lines form lists: if there are lines with a number alone, that many
candidates follow each (Suzuki et al.); else a blank line ends a list; else every line is a list.
OpenNMT's ``-n_best K`` prints K lines per sentence, blank ones if it has fewer. Its files do not
contain K, so ``beam`` has to give it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from reranker.nbest.data import NBest, RawCandidate, RawList
from reranker.nbest.dialects.candidate_text import linearized
from reranker.nbest.dialects.registry import Dialect
from reranker.nbest.lines import Group, NumberedLines, cut_short, of_length, separated
from reranker.nbest.notation import Notation

_COUNT = re.compile(r"[0-9]{1,9}")
_COUNTED = "a count before each list"
_SEPARATED = "a blank line after each list"


def layout(head: Sequence[str], beam: int | None) -> str:
    """Describe in words how lines form lists."""
    if any(_COUNT.fullmatch(line.strip()) for line in head):
        return _COUNTED
    if beam is not None:
        return f"{beam} lines a list"
    inner = "".join("x" if line.strip() else " " for line in head).rstrip()
    return _SEPARATED if " " in inner else "one line per list"


def _read(file: NumberedLines) -> Iterator[RawList]:
    kind = layout(file.head, file.beam)
    if kind == _COUNTED:
        return file.numbered(_counted(file))
    if kind == _SEPARATED:
        return file.numbered(separated(file))
    return file.numbered(of_length(file, file.beam or 1))


def _counted(file: NumberedLines) -> Iterator[Group]:
    candidates: list[RawCandidate] = []
    start = 0
    promised: int | None = None

    def finish() -> Group:
        if promised is not None and len(candidates) < promised:
            candidates.append(cut_short(candidates, promised, start))
        return start, candidates

    for number, line in file:
        text = line.strip()
        if _COUNT.fullmatch(text):
            if promised is not None or candidates:
                yield finish()
            candidates, start, promised = [], number, int(text)
        elif text:
            is_surplus = promised is not None and len(candidates) >= promised
            problem = ("surplus", f"the count promises {promised} candidates only")
            candidates.append(RawCandidate(number, text, problem=problem if is_surplus else None))
    if promised is not None or candidates:
        yield finish()


def _write(nbest: NBest, position: int) -> str:
    lines = [str(len(nbest.candidates)), *map(linearized, nbest.candidates)]
    return "\n".join([*lines, ""])


def _write_opennmt(nbest: NBest, position: int) -> str:
    return "".join(f"{linearized(candidate)}\n" for candidate in nbest.candidates)


SEQ2SEQ = Dialect(
    read=_read,
    write=_write,
    notation=Notation.LINEARIZED,
    layout=layout,
    looks_for_blank_line=True,
)
OPENNMT = Dialect(
    read=_read,
    write=_write_opennmt,
    notation=Notation.LINEARIZED,
    layout=layout,
)
