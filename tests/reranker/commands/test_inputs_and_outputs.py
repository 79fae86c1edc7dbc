"""No command replaces a file that it reads, whichever flag names the file."""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from reranker.checkpoints.ensemble_file import WeighedModels, write_ensemble_file
from reranker.commands.main import command_names, command_parser
from reranker.ranking import Weighing
from tests.program import rerank
from tests.reranker.ensembles import CANDIDATES, LANGUAGE_MODEL
from tests.reranker.small_files import bllip, write

pytestmark = pytest.mark.plugins

TREES = "(TOP (S (NP (DT The) (NN cat)) (VP (VBZ runs))))\n" * 3
RNNG = "".join(f"{n} ||| -1.5 ||| (S (NP (DT XX) (NN XX)) (VP (VBZ XX)))\n" for n in range(3))

# Command lines that name files to read and, behind the bar, what they write. Every flag that takes
# a file stands in one of them.
COMMANDS = [
    "--nbest rnng --tokens words --models m.pt --gold trees --format rnng | --out o",
    "--nbest lists --models e.toml --gold folder | --out o",
    "parse text --models m.pt --parser-model spans.pt | --out o",
    "parse text --models m.pt --parser-command ./parser | --out o",
    "grep NP rnng --tokens words --format rnng | --out o",
    "grep NP text --as sentences --parser-model spans.pt | --out o",
    "grep NP text --as sentences --parser-command ./parser --format bllip | --out o",
    "grep --patterns patterns trees folder | --out o",
    "measure rnng --tokens words --format rnng | --out o",
    "measure text --as sentences --parser-model spans.pt | --out o",
    "measure text --as sentences --parser-command ./parser | --out o",
    "clauses rnng --tokens words --format rnng | --out o",
    "clauses text --as sentences --parser-model spans.pt | --out o",
    "clauses text --as sentences --parser-command ./parser | --out o",
    "surprisal text --models m.pt | --out o --plot o.png",
    "surprisal --nbest lists --models m.pt | --out o --plot o.png",
    "check trees folder --parser-model spans.pt | --out o --html h",
    "convert rnng --tokens words --format rnng --to bllip | --out o --tokens-out t",
    "augment trees --not-in folder | --out o",
    "convert trees folder --to trees --clean | --out o",
    "show rnng --tokens words --format rnng --gold trees --sentence 1 | --svg o.svg",
    "show rnng --tokens words --format rnng --gold trees --sentence 1 | --png o.png",
    "show rnng --tokens words --format rnng --gold trees --sentence 1 | --pdf o.pdf",
    "tune ranked trees --models e.toml | --save o.toml",
    "tune ranked trees --models e.toml --save o.toml | --plot o.png --plot-confidence c.png",
    "train --config c.toml --train trees --dev folder --vectors vectors | --out o.pt",
    "train --config c.toml --train trees --dev trees --start-from m.pt | --out o.pt",
    "train --config spans.toml --train trees --dev trees --encoder encoder --teacher spans.pt "
    "--taught-text text | --out o.pt",
    "train --config pairs.toml --train text --train-target words --dev words --dev-target text "
    "| --out o.pt",
    "adapt --text text --train trees --models m.pt --parser-model spans.pt | --out made/m.pt",
    "adapt --text text --models m.pt --parser-command ./parser | --out made/m.pt",
    "generate --models m.pt --source words | --out o",
    "analyse layers --models m.pt --trees trees | --out o --plot o.png",
    "analyse layers --models m.pt --text text | --out o --plot o.png",
    "analyse perplexity --models m.pt --text text | --out o --plot o.png --token-scores s.jsonl",
    "analyse last-word --models m.pt --passages text | --out o --plot o.png",
    "analyse curves run | --out o --plot o.png",
]
# Files in a folder, whose names the program chooses: it replaces what is recorded as its own alone.
NAMED_BY_THE_PROGRAM = {
    "train": {"log_folder"},
    "cluster": {"nbest", "text", "tokens", "out", "models"},
}
OF_A_FILE = (
    "FILE",
    "FILE.pt",
    "FILE.toml",
    "FILE.png",
    "FILE.jsonl",
    "FOLDER",
    "TEXT",
    "TREES",
    "RUN",
)


@pytest.fixture(scope="module")
def folder(
    models: list[str], span_model: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """Write one file of each kind, in a folder that no test changes."""
    folder = tmp_path_factory.mktemp("inputs")
    for name in ("folder", "encoder", "run", "made"):
        (folder / name).mkdir()
    for name, model in (("m.pt", models[0]), ("n.pt", models[1]), ("spans.pt", span_model)):
        shutil.copy(model, folder / name)
    write_ensemble_file(folder / "e.toml", WeighedModels((folder / "n.pt",), Weighing(0.5)))
    for name, content in {
        "rnng": RNNG, "words": "The cat runs\n" * 3, "text": "The cat runs\n" * 3,
        "lists": bllip(*[CANDIDATES] * 3), "trees": TREES, "folder/a.mrg": TREES,
        "patterns": "NP\n", "vectors": "a 1\n", "encoder/vocab.txt": "a\n", "run/log.jsonl": "",
        "parser": "#!/bin/sh\n", "ranked": "", "c.toml": LANGUAGE_MODEL,
        "spans.toml": '[model]\narchitecture = "span"\n',
        "pairs.toml": '[training]\ntask = "text"\n[model]\narchitecture = "encoder-decoder"\n',
    }.items():  # fmt: skip
        write(folder / name, content)
    (folder / "parser").chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield folder


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_that_is_read_is_not_replaced(command: str, folder: Path) -> None:
    line, _, outputs = command.partition(" | ")
    words = line.split()
    named = {Path(word) for word in words} | ({Path("n.pt")} if "e.toml" in words else set())
    files = [each for name in named for each in (name, *name.glob("*")) if each.is_file()]
    assert files
    before = {each: each.read_bytes() for each in folder.rglob("*") if each.is_file()}
    names = outputs.split()
    for flag, output in zip(names[::2], names[1::2], strict=True):
        ends = ("", ".part", ".journal") if flag == "--out" and output == "o" else ("",)
        written = output if "/" not in output else str(Path(output).parent)
        for file in files:
            for end in ends if words[0] not in ("convert", "analyse", "augment") else ("",):
                os.link(file, output + end)
                done = rerank(*words, flag, written)
                Path(output + end).unlink()
                assert done.returncode == 2, (file, flag, done)
                last = done.stderr.splitlines()[-1]
                assert "is also an " in last, (file, flag, last)
    after = {each: each.read_bytes() for each in folder.rglob("*") if each.is_file()}
    assert after == before


@pytest.mark.parametrize("end", ["", ".part", ".journal", ".lock"])
@pytest.mark.parametrize(
    "command",
    ["check trees --parser-model spans.pt --html", "surprisal text --models m.pt --plot"],
)
def test_no_output_is_one_that_a_run_writes_beside_another(
    command: str, end: str, folder: Path
) -> None:
    other = f"o.png{end}"
    done = rerank(*command.split(), other, "--out", "o.png")
    assert done.returncode == 2
    assert f"{other}: two outputs are the same file" in done.stderr
    assert not [*folder.glob("o.png*")]


def test_every_flag_that_takes_a_file_is_tried() -> None:
    tried: dict[str, set[str]] = {}
    for command in COMMANDS:
        words = command.replace(" | ", " ").split()
        name = "rerank" if words[0].startswith("-") else words.pop(0)
        if name == "analyse":
            words.pop(0)
        tried.setdefault(name, set()).update(words)
    for name in command_names():
        parsers = [command_parser(name)]
        for action in parsers[0]._actions:
            if isinstance(action, argparse._SubParsersAction):
                parsers = [*action.choices.values()]
        actions = [action for parser in parsers for action in parser._actions]
        known = {
            action.dest for action in actions if tried.get(name, set()) & {*action.option_strings}
        }
        own = NAMED_BY_THE_PROGRAM.get(name, set())
        missing = {
            action.option_strings[-1]
            for action in actions
            if action.option_strings
            and action.metavar in OF_A_FILE
            and action.dest not in known | own
        }
        writes = any(action.dest in ("out", "svg", "save") for action in actions)
        assert not (missing if writes else set()), name
