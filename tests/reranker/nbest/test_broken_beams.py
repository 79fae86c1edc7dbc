"""Real lists as other parsers would have printed them, with one candidate in ten broken: the others
are ranked as in the original, the broken ones reported, and no sentence is lost."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reranker.checkpoints.vocabulary import unknown_class
from reranker.commands.main import main
from reranker.nbest import NBest, read_nbest
from reranker.nbest.dialects.candidate_text import bare, linearized
from reranker.nbest.writing import list_text, tokens_text
from reranker.trees.linearize import is_word

ROOT = Path(__file__).parents[3]
SHARED = ROOT.parent / "shared" / "data" / "nbest"
LISTS = [
    pytest.param(ROOT / "examples" / "parses.txt", id="examples"),
    *(
        pytest.param(
            path,
            id=path.name.split(".")[0],
            marks=[
                pytest.mark.slow,
                pytest.mark.skipif(not path.exists(), reason=f"{path} is not here"),
            ],
        )
        for path in (
            SHARED / "gum_dev_50best.txt.gz",
            SHARED / "craft_dev_first1200_50best.txt.gz",
        )
    ),
]

Break = Callable[[list[str], random.Random], list[str]]


def _without(tokens: list[str], generator: random.Random, kind: Callable[[str], bool]) -> list[str]:
    place = generator.choice([place for place, token in enumerate(tokens) if kind(token)])
    return [*tokens[:place], *tokens[place + 1 :]]


def _inserted(tokens: list[str], generator: random.Random, token: str) -> list[str]:
    place = generator.randrange(1, len(tokens))
    return [*tokens[:place], token, *tokens[place:]]


def is_closing(token: str) -> bool:
    return token[0] == ")"


BREAKS: dict[str, Break] = {
    "closing bracket missing": lambda tokens, g: _without(tokens, g, is_closing),
    "opening bracket missing": lambda tokens, g: _without(tokens, g, lambda t: t[0] == "("),
    "word missing": lambda tokens, g: _without(tokens, g, is_word),
    "word too many": lambda tokens, g: _inserted(tokens, g, "XX"),
    "closing bracket too many": lambda tokens, g: _inserted(tokens, g, ")NP"),
    "cut off": lambda tokens, g: tokens[: g.randrange(1, len(tokens))],
    "nothing": lambda tokens, g: [],
    "words only": lambda tokens, g: [token for token in tokens if is_word(token)],
    "twice": lambda tokens, g: tokens + tokens,
}


def read(path: Path) -> Iterator[NBest]:
    # Five sentences are enough: of their 250 candidates 50 are broken, in all ways.
    return itertools.islice(read_nbest(path), 100 if "dev" in path.name else 5)


def ranked(path: Path, models: list[str], folder: Path, *more: str) -> list[dict[str, object]]:
    out = folder / f"{path.name}.jsonl"
    arguments = ["--nbest", str(path), "--models", *models, "--output", "ranked"]
    assert main([*arguments, "--out", str(out), *more]) in (0, 1)
    return [json.loads(line) for line in out.read_text().splitlines()]


def order(row: dict[str, object], keep: set[int]) -> list[tuple[int, float]]:
    ranking = row["ranking"]
    assert isinstance(ranking, list)
    return [(one["index"], one["nll"]) for one in ranking if one["index"] in keep]


def original(path: Path, models: list[str], folder: Path) -> list[dict[str, object]]:
    copy, tokens = folder / "original.txt", folder / "tokens"
    with copy.open("w") as file, tokens.open("w") as words:
        for position, nbest in enumerate(read(path)):
            file.write(list_text(nbest, position, "bllip"))
            words.write(tokens_text(nbest))
    return ranked(copy, models, folder)


@pytest.mark.parametrize("path", LISTS)
def test_rnng_samples(path: Path, tmp_path: Path, models: list[str]) -> None:
    generator = random.Random(3)
    expected = original(path, models, tmp_path)
    # Per sentence: lines in the parser's order; then sentences are interleaved at random.
    samples: list[list[tuple[str, bool]]] = []
    for position, nbest in enumerate(read(path)):
        samples.append([])
        for one in nbest.candidates:
            hidden = [
                unknown_class(token).replace("<", "UNK-").strip(">")
                if is_word(token) and generator.random() < 0.3
                else token
                for token in bare(one).replace("(", " (").replace(")", " )").split()
            ]
            is_broken = generator.random() < 0.2
            if is_broken:
                hidden = generator.choice(list(BREAKS.values()))(hidden, generator)
                hidden = [")" if is_closing(token) else token for token in hidden]
            samples[-1].append(
                (f"{position} ||| {one.parser_score} ||| {' '.join(hidden)}", is_broken)
            )
    waiting = [position for position, lines in enumerate(samples) for _ in lines]
    generator.shuffle(waiting)
    queues = [iter(lines) for lines in samples]
    lines = [next(queues[position]) for position in waiting]
    file = tmp_path / "samples.rnng"
    file.write_text("".join(line + "\n" for line, _ in lines))
    check(file, expected, lines, samples, models, tmp_path)


@pytest.mark.parametrize("path", LISTS)
def test_seq2seq_beams(path: Path, tmp_path: Path, models: list[str]) -> None:
    generator = random.Random(4)
    expected = original(path, models, tmp_path)
    samples: list[list[tuple[str, bool]]] = []
    lines: list[tuple[str, bool]] = []
    for nbest in read(path):
        samples.append([])
        for one in nbest.candidates:
            tokens = linearized(one).split()
            is_broken = generator.random() < 0.2
            if is_broken:
                # A blank line would be no candidate.
                kinds = [kind for kind in BREAKS if kind != "nothing"]
                tokens = BREAKS[generator.choice(kinds)](tokens, generator)
            samples[-1].append((" ".join(tokens), is_broken))
        lines += [(str(len(nbest.candidates)), False), *samples[-1]]
    file = tmp_path / "beams.txt"
    file.write_text("".join(line + "\n" for line, _ in lines))
    check(file, expected, lines, samples, models, tmp_path, "--no-repair")
    # Repaired, every candidate with a bracket and a word is ranked, and the unbroken as before.
    rows = ranked(file, models, tmp_path, "--tokens", str(tmp_path / "tokens"))
    for before, row, sample in zip(expected, rows, samples, strict=True):
        unbroken = {index for index, (_, is_broken) in enumerate(sample) if not is_broken}
        assert order(row, unbroken) == order(before, unbroken)
        ranking = row["ranking"]
        assert isinstance(ranking, list)
        repaired = {one["index"] for one in ranking if one["repaired"]}
        assert repaired.isdisjoint(unbroken)
        assert len(ranking) + len(row["rejected"]) == len(sample)  # type: ignore[arg-type]
        for one in row["rejected"]:  # type: ignore[attr-defined]
            tokens = sample[one["index"]][0].split()
            assert not any(map(is_word, tokens)) or all(map(is_word, tokens))


def check(
    file: Path,
    expected: list[dict[str, object]],
    lines: list[tuple[str, bool]],
    samples: list[list[tuple[str, bool]]],
    models: list[str],
    folder: Path,
    *more: str,
) -> None:
    rows = ranked(file, models, folder, "--tokens", str(folder / "tokens"), *more)
    assert len(rows) == len(expected)
    reported = set()
    for before, row, sample in zip(expected, rows, samples, strict=True):
        unbroken = {index for index, (_, is_broken) in enumerate(sample) if not is_broken}
        assert order(row, unbroken) == order(before, unbroken)
        assert {index for index, _ in order(row, set(range(len(sample))))} == unbroken
        reported |= {one["line"] for one in row["rejected"]}  # type: ignore[attr-defined]
    assert reported == {number for number, (_, is_broken) in enumerate(lines, 1) if is_broken}
