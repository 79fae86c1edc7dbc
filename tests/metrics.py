"""The size of the project, printed for whoever reviews a change: nothing here is a limit.

python -m tests.metrics          # lines by room, words of the pages
python -m tests.metrics --walks  # also the files, functions and moves of two commands
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, FrameType

from reranker.commands.main import main as rerank
from tests.checkout import ROOT

PRODUCTION = ("benchmarks", "eval", "models", "reranker", "service")
WALKS = {
    "rerank --nbest": ["--nbest", "examples/short.txt", "--models", "ckpt/doc/doc-1.pt"],
    "rerank parse": ["parse", "{text}"],
}


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
    """Run a command; return how many files and functions it entered, and how many calls, each
    counted once, led from one file to another."""
    functions: set[CodeType] = set()
    moves: set[tuple[CodeType, CodeType]] = set()
    folders = tuple(f"{ROOT / name}/" for name in PRODUCTION)

    def note(frame: FrameType, event: str, _: object) -> None:
        code, caller = frame.f_code, frame.f_back
        if event == "call" and code.co_filename.startswith(folders):
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
    return f"{len(files):4} files {len(functions):5} functions {len(moves):5} moves"


def main(arguments: Sequence[str]) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m tests.metrics", description=__doc__)
    parser.add_argument("--walks", action="store_true")
    rooms = lines_by_room()
    for room, count in sorted(rooms.items()):
        print(f"{count:7,} {room}")
    production = sum(count for room, count in rooms.items() if room.split("/")[0] in PRODUCTION)
    print(f"{production:7,} Python of production")
    pages = words_by_page()
    for name, (words, prose) in pages.items():
        print(f"{words:7,} words, {prose:6,} of prose  {name}")
    print(f"{sum(words for words, _ in pages.values()):7,} words in {len(pages)} pages")
    if parser.parse_args(arguments).walks:
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as text:
            text.write("We saw it.\n")
            text.flush()
            for name, command in WALKS.items():
                print(f"{name:15}{walk([word.format(text=text.name) for word in command])}")


if __name__ == "__main__":
    main(sys.argv[1:])
