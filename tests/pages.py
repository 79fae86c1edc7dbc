"""The examples of the pages, and their outputs, which are made by running them.

A ``console`` block has commands after ``$`` and what each prints; a ``python`` block may have a
``text`` block right after it with what it prints. Examples of a page run in its order, in one
directory. README's ``sh`` blocks, and its ``python`` blocks without an output, run, too, and must
succeed. Notebooks run cell by cell.

    python -m tests.pages            # runs everything, and writes new outputs into the pages
    python -m tests.pages README.md docs/grep.md
"""

from __future__ import annotations

import itertools
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import NamedTuple

import nbformat
from nbclient import NotebookClient

from reranker.checkpoints.installed import default_models, installed_models, parsing_models
from reranker.files.table import grid
from tests.checkout import ROOT
from tests.shell import environment, newcomers_directory, shell

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MODELS = re.compile(r"(?<=^<!-- models -->\n\n)(?:\|.*\n)*", re.MULTILINE)
_VOLATILE = re.compile(r" at 0x[0-9a-f]+")


# README's blocks that are left out: installing, what .ci/run runs, and blocks that other tests run
# (tests/service starts the server for curl, tests/reranker/plugins/adapting/test_command.py has a
# parser).
_NOT_RUN = ("git clone", "make ", "curl ", "rerank adapt ", "rerank serve")
# Training for an hour on a treebank, in a second.
_SHORTER = {"--budget 60": "--epochs 1", "--config small": "--config tiny"}


Run = Callable[[str, Path], CompletedProcess[str]]
"""A function that runs a command in a directory."""


class Example(NamedTuple):
    """A command or program, and the place of its output in the page; None without output."""

    command: str
    place: tuple[int, int] | None


def pages() -> list[Path]:
    """Return README and the pages of docs/ that have an example with an output."""
    every = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [
        page for page in every if any(examples(page)) or _MODELS.search(page.read_text("utf-8"))
    ]


def notebooks() -> list[Path]:
    return sorted((ROOT / "examples").glob("*.ipynb"))


def examples(page: Path) -> Iterator[Example]:
    """Yield the examples of a page, in order."""
    text = page.read_text("utf-8")
    is_readme = page == ROOT / "README.md"
    blocks = list(_BLOCK.finditer(text))
    for block, following in itertools.zip_longest(blocks, blocks[1:]):
        if block[1] == "console":
            yield from _commands(block)
        elif block[1] == "python":
            program = f"python - <<'END'\n{block[2]}END"
            prints = following is not None and following[1] == "text"
            if prints and not text[block.end() : following.start()].strip():
                yield Example(program, following.span(2))
            elif is_readme:
                yield Example(program, None)
        elif is_readme and block[1] == "sh" and not block[2].startswith(_NOT_RUN):
            yield Example(block[2], None)


def _commands(block: re.Match[str]) -> Iterator[Example]:
    starts = [found.start() for found in re.finditer(r"^\$ ", block[2], re.MULTILINE)]
    for start, end in zip(starts, [*starts[1:], len(block[2])], strict=True):
        # A command goes on after a backslash at the end of its line.
        command = re.match(r"\$ ((?:.*\\\n)*.*)\n", block[2][start:end])
        assert command, block[0]
        first = block.start(2)
        yield Example(command[1], (first + start + command.end(), first + end))


def renewed(page: Path, directory: Path, run: Run = shell) -> str:
    """Return the page with the current outputs of its examples, which ``run`` runs. Raises
    CalledProcessError for an example without output that fails."""
    text = with_models(page.read_text("utf-8"))
    here = newcomers_directory(directory)
    gold = (ROOT / "examples" / "gold.mrg").read_bytes()
    for name in ("train.mrg.gz", "dev.mrg.gz"):
        (here / name).write_bytes(gold)
    parts, done = [], 0
    for command, place in examples(page):
        for long, short in _SHORTER.items():
            command = command.replace(long, short)
        ran = run(command, here)
        if place is None:
            ran.check_returncode()
        else:
            failure = ran.stderr if ran.returncode else ""
            parts += [text[done : place[0]], ran.stdout or failure]
            done = place[1]
    return "".join([*parts, text[done:]])


def with_models(text: str) -> str:
    """Return the text of a page with the table of models, if it has one, as the files of ckpt/ are
    described now."""
    return _MODELS.sub(lambda _: _models_table(), text)


def _models_table() -> str:
    lists, terms = "", ""
    rows: list[tuple[str, ...]] = []
    notes = {default_models().name: ", the default for lists"}
    notes[parsing_models() or ""] = ", the default for text"
    for each in installed_models():
        terms = each.about.get("terms", terms)  # else those of the folder's ensemble
        own: list[str] = []
        lists_f1: list[str] = []
        first: list[str] = []
        for score in each.about.get("f1", ()):
            name, is_list = score["set"].split()[0], score["set"].endswith("BLLIP")
            (lists_f1 if is_list else own).append(f"{name} {score['reranked']:.2f}")
            first += [f"{score['parser']:.2f}"] * is_list
        lists = lists or ", ".join(first)
        cost = each.about.get("milliseconds")
        cells = (
            f"`{each.name}`{notes.get(each.name, '')}",
            each.about["description"],
            ", ".join(own),
            ", ".join(lists_f1),
            "" if cost is None else f"{cost:g} ms",
            terms.partition(";")[0],
        )
        rows.append(cells)
    heads = ("`--models`", "", "F1", f"F1 of BLLIP's lists ({lists} before)", "time", "terms")
    return grid(heads, rows) + "\n"


def pictures(directory: Path) -> dict[Path, bytes]:
    """Return the drawings that the examples made in ``images/``, by their files in docs/."""
    images = ROOT / "docs" / "images"
    made = (directory / "images").glob("*.svg")
    return {images / picture.name: picture.read_bytes() for picture in made}


def renewed_notebook(path: Path, directory: Path) -> str:
    """Return the notebook with the current outputs of its cells. Raises CellExecutionError."""
    notebook = nbformat.read(path, as_version=4)
    place = newcomers_directory(directory)
    client = NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(place)}})
    client.execute(env=environment())
    notebook.metadata.pop("language_info", None)  # which Python it ran with
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # when
        for output in cell.get("outputs", ()):
            for kind, data in output.get("data", {}).items():
                output["data"][kind] = _VOLATILE.sub("", data)
    return str(nbformat.writes(notebook)) + "\n"


def main(names: list[str]) -> None:
    """Write new outputs into the pages and notebooks, or into those with these names."""
    chosen = [Path(name).resolve() for name in names] or [*pages(), *notebooks()]
    for page in chosen:
        renew = renewed_notebook if page.suffix == ".ipynb" else renewed
        with tempfile.TemporaryDirectory() as directory:
            new = renew(page, Path(directory))
            for picture, content in pictures(Path(directory)).items():
                picture.write_bytes(content)
        if new != page.read_text("utf-8"):
            page.write_text(new, "utf-8")
            print(f"{page.relative_to(ROOT)}: new outputs")


if __name__ == "__main__":
    main(sys.argv[1:])
