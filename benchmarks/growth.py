"""Growth of the cost with words, candidates, models, threads and sentences.

    python -m benchmarks.growth gum/dev.mrg.gz --picture docs/images/growth.png

CPU seconds of this process, medians of three, with one thread but for the last of the costs; each
figure is for the same number of sentences. The exponent is the slope of a line through the
logarithms of the two largest sizes and of the costs there: 1 is linear. Sentences are made of a
treebank's words one after another, so that there are long ones; candidates are the parser's best
trees of one sentence. The memory is the most that `rerank parse` takes for so many sentences, in a
process of its own.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count, islice
from pathlib import Path
from statistics import median

from benchmarks.costs import peak_megabytes, timed
from benchmarks.servers import RERANK
from reranker.checkpoints.ensemble_file import named_models
from reranker.files.table import aligned
from reranker.files.text import read_lines
from reranker.nbest import NBest
from reranker.nbest.data import Sentence
from reranker.parsers.choice import ParserChoice
from reranker.parsers.parser import ParserSettings
from reranker.pipeline import Reranker
from reranker.trees.tree import Tree

WORDS = (5, 10, 20, 50, 100, 200)
CANDIDATES = (1, 2, 5, 20, 100, 500)
MODELS = (1, 2, 5, 10)
THREADS = (1, 2)
SENTENCES = (100, 1_000, 10_000)
AT_ONCE = 3  # sentences or lists


@dataclass(frozen=True)
class Series:
    """The costs of one quantity's sizes."""

    name: str
    sizes: Sequence[int]
    costs: Sequence[float]
    unit: str

    @property
    def exponent(self) -> float:
        """Return how the cost grows between the two largest sizes."""
        (size, cost), (larger, more) = list(zip(self.sizes, self.costs, strict=True))[-2:]
        return math.log(more / cost) / math.log(larger / size)

    def rows(self) -> Iterator[tuple[str, ...]]:
        """Yield a row for each size; the last one has the exponent."""
        for size, cost in zip(self.sizes, self.costs, strict=True):
            exponent = f"{self.exponent:.2f}" if size == self.sizes[-1] else ""
            yield (self.name, f"{size:,}", f"{cost:.3g} {self.unit}", exponent)


def seconds(work: Callable[[], object], times: int = 3) -> float:
    """Return the median of the processor seconds of some work, which is done once before."""
    work()
    return median(timed(work)[1].processor for _ in range(times))


def sentences(words: Iterator[str], length: int, number: int) -> list[Sentence]:
    """Return so many sentences of so many words."""
    return [Sentence.of([*islice(words, length)]) for _ in range(number)]


def parsing(words: Iterator[str], candidates: int) -> Callable[[Sequence[Sentence]], list[NBest]]:
    """Return the built-in parser as a function from sentences to lists."""
    parser = ParserChoice(settings=ParserSettings(candidates=candidates)).create()

    def parse(given: Sequence[Sentence]) -> list[NBest]:
        return [each for each in parser.parse(given) if isinstance(each, NBest)]

    return parse


def shortened(lists: Sequence[NBest], most: int) -> list[NBest]:
    """Return the lists with their first candidates alone."""
    return [replace(each, candidates=each.candidates[:most]) for each in lists]


def rerank(reranker: Reranker, lists: Sequence[NBest]) -> None:
    """Score every candidate of the lists."""
    for _ in reranker.rerank_lists(lists):
        pass


def memory(text: Path, number: int) -> float:
    """Return the peak of `rerank parse` in MB for the first sentences of a text."""
    with tempfile.TemporaryDirectory() as folder:
        some = Path(folder, "text")
        with text.open(encoding="utf-8") as lines:
            some.write_text("".join(islice(lines, number)), encoding="utf-8")
        command = [*RERANK, "parse", str(some), "--tokens", "--threads", "1", "--models", "fast"]
        return peak_megabytes([*command, "--out", f"{folder}/out"])


def measured(treebank: str, most_sentences: int) -> Iterator[Series]:
    """Yield the series of each quantity."""
    every = [word for line in read_lines(treebank) for word in Tree.from_string(line).words()]
    words = (every[place % len(every)] for place in count())
    parse = parsing(words, 20)
    given = [sentences(words, length, AT_ONCE) for length in WORDS]
    costs = [seconds(partial(parse, some)) / AT_ONCE for some in given]
    yield Series("words, parsing", WORDS, [1000 * cost for cost in costs], "ms")
    names = named_models(None, "sum", ())
    lists = parsing(words, max(CANDIDATES))(given[2])
    with Reranker.from_models(names, "sum", "cpu", 1) as reranker:
        costs = [
            seconds(partial(rerank, reranker, some)) / AT_ONCE
            for some in (shortened(lists, most) for most in CANDIDATES)
        ]
        yield Series("candidates", CANDIDATES, [1000 * cost for cost in costs], "ms")
        (model,) = [each for each in reranker.members if "spans" not in each.name][:1]
    few = shortened(lists, 20)
    costs = []
    for size in MODELS:
        with Reranker([model] * size, threads=1) as several:
            costs.append(1000 * seconds(partial(rerank, several, few)) / AT_ONCE)
    yield Series("language models", MODELS, costs, "ms")
    costs = []
    for size in THREADS:
        with Reranker.from_models(names, "sum", "cpu", size) as threaded:
            costs.append(1000 * seconds(partial(rerank, threaded, few)) / AT_ONCE)
    yield Series("threads", THREADS, costs, "ms")
    sizes = [size for size in SENTENCES if size <= most_sentences]
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".txt") as text:
        for each in sentences(words, 12, max(sizes)):
            text.write(f"{' '.join(each.words)}\n")
        text.flush()
        peaks = [memory(Path(text.name), size) for size in sizes]
    yield Series("sentences, memory", sizes, peaks, "MB")


def draw(series: Sequence[Series], path: Path) -> None:
    """Draw the costs against the sizes, relative to the smallest, on logarithmic axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    for each in series:
        relative = [cost / each.costs[0] for cost in each.costs]
        axes.plot(each.sizes, relative, marker="o", label=f"{each.name}: {each.exponent:.2f}")
    axes.set(xscale="log", yscale="log", xlabel="size", ylabel="cost, smallest size = 1")
    axes.legend(title="exponent between the largest")
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("treebank", help="a treebank, a tree on each line")
    parser.add_argument("--sentences", type=int, default=SENTENCES[-1], help="at most so many")
    parser.add_argument("--picture", type=Path, help="write a picture here")
    arguments = parser.parse_args()
    found = list(measured(arguments.treebank, arguments.sentences))
    rows = [row for each in found for row in each.rows()]
    print(aligned([("quantity", "size", "a sentence", "exponent"), *rows]))
    if arguments.picture:
        draw(found, arguments.picture)


if __name__ == "__main__":
    main()
