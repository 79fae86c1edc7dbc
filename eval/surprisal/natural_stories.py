"""Reading times predicted from surprisal: the Natural Stories corpus (Futrell et al. 2021).

    python eval/surprisal/natural_stories.py --data natural_stories/ --beam 10 100 --keep kept/

A linear regression predicts each word's mean self-paced reading time from its length, frequency and
position and the length and frequency of the word before; then surprisals of the word and of the one
before are added. Each story is predicted by a regression on the others. Printed is what each adds:
log-likelihood a word of the held-out stories, in thousandths of a nat, and p, the share of sign
flips of whole sentences' differences, 10,000 of them drawn, that differ as much.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reranker.checkpoints.ensemble_file import ModelNames
from reranker.errors import InputError
from reranker.files.figure import new_figure, save_figure
from reranker.files.output import make_folder, never, open_whole, output_path
from reranker.files.table import aligned
from reranker.process.flags import positive, reporting_errors, script_parser

Column = NDArray[np.float64]
_FLIPS, _SEED = 10_000, 1
_OURS = ("surprisal", "syntactic", "lexical", "sentence")


class Story(NamedTuple):
    """The words of a story, and what is known of each, [words] per column."""

    words: list[str]
    columns: dict[str, Column]


@reporting_errors("natural_stories.py")
def main() -> int:
    parser = script_parser("natural_stories.py", __doc__)
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--models", nargs="+", metavar="FILE.pt")
    parser.add_argument("--beam", nargs="+", type=positive, default=[10, 100], metavar="K")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="surprisals, to be used again")
    parser.add_argument("--threads", type=positive, default=1, metavar="N")
    parser.add_argument("--plot", type=Path, metavar="FILE.png")
    arguments = parser.parse_args()
    run(arguments)
    return 0


def run(arguments: argparse.Namespace) -> None:
    """Print the table, and draw it."""
    picture = output_path(arguments.plot)
    figure = new_figure(picture) if picture else None
    stories = read_stories(arguments.data)
    for beam in arguments.beam:
        for number, story in enumerate(stories, 1):
            kept = arguments.keep / f"{beam}-{number}.tsv" if arguments.keep else None
            values = own_surprisals(story.words, arguments.models, beam, arguments.threads, kept)
            for name, column in zip(_OURS, np.array(values).T, strict=True):
                story.columns[f"{name} {beam}"] = column
    results = compared(stories, arguments.beam)
    rows = [("", "beyond", "words", "1000 x nats a word", "p")]
    rows += [
        (each.name, each.beyond, f"{each.words:,}", f"{1000 * each.gain:.2f}", f"{each.p:.4f}")
        for each in results
    ]
    print(aligned(rows, left=2))
    if figure is not None and picture is not None:
        axes = figure.add_subplot()
        shown = [each for each in results if each.beyond == "base"]
        axes.barh([each.name for each in shown], [1000 * each.gain for each in shown])
        axes.invert_yaxis()
        axes.set_xlabel("log-likelihood a word beyond length, frequency and position (nats / 1000)")
        save_figure(figure, picture)


def own_surprisals(
    words: Sequence[str], models: ModelNames | None, beam: int, threads: int, kept: Path | None
) -> list[tuple[float, ...]]:
    """Return the values of ``_OURS`` for each word of a story, from the file ``kept`` if it
    exists."""
    if kept is None or not kept.exists():
        from reranker import surprisal

        read = surprisal(" ".join(words), models=models, beam=beam, threads=threads).rows()
        if [row["text"] for row in read] != list(words):
            raise InputError("the words of a story are not those that were read")
        rows = [tuple(float(row[name]) for name in _OURS) for row in read]
        if kept is None:
            return rows
        make_folder(kept.parent)
        with open_whole(kept, never) as file:
            for row in rows:
                file.write("\t".join(map(str, row)) + "\n")
    lines = kept.read_text("utf-8").splitlines()
    return [tuple(map(float, line.split("\t"))) for line in lines]


class Fit(NamedTuple):
    """The gain of some predictors over others."""

    name: str
    beyond: str
    words: int
    gain: float  # log-likelihood a word, in nats
    p: float


def compared(stories: Sequence[Story], beams: Sequence[int]) -> list[Fit]:
    """Return all comparisons of the table."""
    base = ("length", "frequency", "position")
    likelihoods = {"base": held_out(stories, base)}
    named: dict[str, tuple[str, ...]] = {
        f"ours, K = {beam}": (f"surprisal {beam}",) for beam in beams
    }
    widest = max(beams)
    named[f"ours, K = {widest}, in two parts"] = (f"syntactic {widest}", f"lexical {widest}")
    named["GPT-3"] = ("gpt3",)
    named[f"GPT-3 and ours, K = {widest}"] = ("gpt3", f"surprisal {widest}")
    for name, columns in named.items():
        likelihoods[name] = held_out(stories, (*base, *columns))
    sentences = sentence_numbers(stories, f"sentence {widest}")
    pairs = [(name, "base") for name in named]
    pairs += [
        (f"ours, K = {widest}, in two parts", f"ours, K = {widest}"),
        (f"GPT-3 and ours, K = {widest}", "GPT-3"),
        (f"GPT-3 and ours, K = {widest}", f"ours, K = {widest}"),
    ]
    results = []
    for name, beyond in pairs:
        gains = likelihoods[name] - likelihoods[beyond]
        p = flipped_p(gains, sentences)
        results.append(Fit(name, beyond, len(gains), float(gains.mean()), p))
    return results


def held_out(stories: Sequence[Story], names: Sequence[str]) -> Column:
    """Return the log-likelihood of every word but the first of each story, by a regression on the
    other stories whose predictors are these columns of the word and of the word before."""
    designs, times = [], []
    for story in stories:
        table = np.stack([story.columns[name] for name in names], axis=1)
        # Position goes by ones, so the previous word's position says nothing new.
        before = table[:-1, [name != "position" for name in names]]
        designs.append(np.column_stack([np.ones(len(table) - 1), table[1:], before]))
        times.append(story.columns["time"][1:])
    likelihoods = []
    for held in range(len(stories)):
        others = [number for number in range(len(stories)) if number != held]
        design = np.concatenate([designs[number] for number in others])
        time = np.concatenate([times[number] for number in others])
        weights = np.linalg.lstsq(design, time, rcond=None)[0]
        variance = float(np.mean((time - design @ weights) ** 2))
        errors = times[held] - designs[held] @ weights
        likelihoods.append(-0.5 * (np.log(2 * np.pi * variance) + errors**2 / variance))
    return np.concatenate(likelihoods)


def sentence_numbers(stories: Sequence[Story], name: str) -> NDArray[np.int64]:
    """Return the sentence of each word of ``held_out``, no two stories sharing one."""
    numbers, last = [], 0
    for story in stories:
        column = story.columns[name].astype(np.int64)[1:] + last
        numbers.append(column)
        last = int(column[-1])
    return np.concatenate(numbers)


def flipped_p(gains: Column, sentences: NDArray[np.int64]) -> float:
    """Return how often the mean gain would be as far from 0 if the sign of each sentence's gain
    were drawn."""
    sums = np.bincount(sentences, weights=gains)
    sums = sums[np.bincount(sentences) > 0]
    signs = np.random.default_rng(_SEED).choice([-1.0, 1.0], size=(_FLIPS, len(sums)))
    as_far = np.abs(signs @ sums) >= abs(sums.sum()) - 1e-9
    return float((as_far.sum() + 1) / (_FLIPS + 1))


def read_stories(folder: Path) -> list[Story]:
    """Read the stories of the corpus that are there. Raises InputError for a file that is missing
    or does not fit the others."""
    words: dict[int, list[str]] = {}
    for row in _rows(folder / "all_stories.tok.gz"):
        words.setdefault(int(row["item"]), []).append(row["word"])
    times = {(row["item"], row["zone"]): row for row in _rows(folder / "reading_times.tsv.gz")}
    frequencies: dict[tuple[str, str], float] = {}
    with gzip.open(folder / "freqs-1.tsv.gz", "rt", encoding="utf-8") as file:
        for line in file:
            code, _, _, count, _ = line.rstrip("\n").split("\t")
            story, zone, part = code.split(".")
            if part == "word" or (part == "whole" and (story, zone) not in frequencies):
                frequencies[story, zone] = float(np.log(float(count) + 1))
    gpt3: dict[int, list[tuple[str, float]]] = {}
    with gzip.open(folder / "gpt3.csv.gz", "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            probability = float(row["logprob"] or 0)  # a story's first token has none
            gpt3.setdefault(int(row["story"]) + 1, []).append((row["token"], probability))
    stories = []
    for item, read in sorted(words.items()):
        keys = [(str(item), str(zone)) for zone in range(1, len(read) + 1)]
        if [times[key]["word"] for key in keys] != read:
            raise InputError(f"{folder}: reading times of story {item} are of other words")
        columns = {
            "time": [float(times[key]["meanItemRT"]) for key in keys],
            "length": [float(len(word)) for word in read],
            "frequency": [frequencies[key] for key in keys],
            "position": [float(zone) for _, zone in keys],
            "gpt3": _by_word(gpt3[item], len(read)),
        }
        stories.append(Story(read, {name: np.array(values) for name, values in columns.items()}))
    return stories


def _by_word(tokens: Sequence[tuple[str, float]], count: int) -> list[float]:
    """Return the surprisal of each word, in nats: the sum of its tokens', a space beginning a
    word."""
    sums: list[float] = []
    for token, log_probability in tokens:
        if not sums or token[0].isspace():
            sums.append(0.0)
        sums[-1] -= log_probability
    if len(sums) != count:
        raise InputError(f"GPT-3 has read {len(sums)} words of a story of {count}")
    return sums


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)


if __name__ == "__main__":
    sys.exit(main())
