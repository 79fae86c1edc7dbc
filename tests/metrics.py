"""The size of the project, printed for whoever reviews a change: nothing here is a limit.

python -m tests.metrics             # lines by room, words of the pages
python -m tests.metrics --walk ...  # files, functions and moves of a command of rerank

``PYTHONPATH=CHECKOUT python -P tests/metrics.py`` does the same in another checkout.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import re
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, FrameType

from reranker.commands.main import main as rerank
from tests.checkout import ROOT

PRODUCTION = ("benchmarks", "eval", "models", "reranker", "service")


def lines_by_room() -> Counter[str]:
    """Return the lines of Python by room; modules outside folders count as one room."""
    counts: Counter[str] = Counter()
    for top in (*PRODUCTION, "tests"):
        for file in (ROOT / top).rglob("*.py"):
            folders = file.relative_to(ROOT).parent.parts
            if file.resolve().is_relative_to(ROOT / top):  # reranker/models is a link to models/
                depth = {"reranker": 2, "service": 2}.get(top, 1) + ("plugins" in folders[:2])
                counts["/".join(folders[:depth])] += _lines(file)
    page = (ROOT / "service" / "page").rglob("*.*")
    counts["page"] = sum(_lines(each) for each in page if each.suffix in (".css", ".html", ".js"))
    return counts


def _lines(file: Path) -> int:
    return file.read_bytes().count(b"\n")


def words_by_page() -> dict[str, tuple[int, int]]:
    """Return the number of words of each page, and that of its prose beside blocks and tables."""
    counts = {}
    for page in sorted((ROOT / "docs").rglob("*.md")):
        text = page.read_text("utf-8")
        prose = re.sub(r"^```.*?^```$|^\|.*$", "", text, flags=re.MULTILINE | re.DOTALL)
        counts[str(page.relative_to(ROOT))] = len(text.split()), len(prose.split())
    return counts


def walk(arguments: Sequence[str]) -> str:
    """Run a command; return how many files and functions it entered, and how many pairs of a
    function and one that it called in another file. Lambdas and comprehensions are parts of their
    function; modules' and classes' bodies do not count."""
    functions: set[CodeType] = set()
    moves: set[tuple[CodeType, CodeType]] = set()
    folders = tuple(f"{ROOT / name}/" for name in PRODUCTION)

    def note(frame: FrameType, event: str, _: object) -> None:
        code, caller = frame.f_code, frame.f_back
        is_function = code.co_flags & inspect.CO_NEWLOCALS and "<" not in code.co_name
        if event == "call" and is_function and code.co_filename.startswith(folders):
            functions.add(code)
            while caller and not caller.f_code.co_filename.startswith(folders):
                caller = caller.f_back
            if caller and caller.f_code.co_filename != code.co_filename:
                moves.add((caller.f_code, code))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            rerank(arguments)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    files = {code.co_filename for code in functions}
    return f"{len(files)} files, {len(functions)} functions, {len(moves)} moves"


def main(arguments: Sequence[str]) -> None:
    """Print the tables, or the counts of a walk."""
    if arguments[:1] == ["--walk"]:
        print(walk(arguments[1:]))
        return
    rooms = lines_by_room()
    for room, count in sorted(rooms.items()):
        print(f"{count:7,} {room}")
    production = sum(count for room, count in rooms.items() if room.split("/")[0] in PRODUCTION)
    print(f"{production:7,} Python of production")
    pages = words_by_page()
    for name, (words, prose) in pages.items():
        print(f"{words:7,} words, {prose:6,} of prose  {name}")
    print(f"{sum(words for words, _ in pages.values()):7,} words in {len(pages)} pages")


if __name__ == "__main__":
    main(sys.argv[1:])
