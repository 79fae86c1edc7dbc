"""500-best lists and five paper-size models on one GPU: how long, and what takes the time.

    python -m benchmarks.gpu [--lists LISTS] [--authors CHECKOUT]

takes less than eight minutes: every line of the table stops after ``--budget`` seconds, the making
of lists included, and says how much it did; the last column is what 2,416 sentences would take at
that pace. Weights are random. Lists shorter than ``--candidates`` are made longer
(``stretched``), and where sentences are too few they come again, made longer differently.
``--tiny --device cpu`` tries the script itself.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import torch

from benchmarks.scoring.authors import AuthorsScorer
from benchmarks.scoring.measure import TokenWork, work_per_token
from benchmarks.scoring.setting import (
    PAPER,
    TimedSentence,
    encoded,
    nodes,
    raw_tokens,
    read,
    resized,
    stretched,
    untrained,
)
from reranker.checkpoints.checkpoint import Checkpoint, load_checkpoint
from reranker.checkpoints.vocabulary import Vocabulary
from reranker.errors import RerankError
from reranker.files.table import aligned
from reranker.models import Config, mixture
from reranker.pipeline import Reranker
from reranker.process.memory import keep_freed_memory

WHOLE = 2_416  # sentences of the Penn Treebank's section 23
VOCABULARY = "ckpt/doc/doc-forward.pt"  # gives words their numbers
AUTHORS_GIGABYTES = 60.0  # larger batches of theirs are halved
TINY = Config(PAPER.vocabulary_size, 16, (24, 24, 16), (0, 0, 1, 2))
LAYERS, DECODER, TARGETS = "layers and projections", "normalisers", "targets"


class GpuRun(NamedTuple):
    """One line: what was done until time was up."""

    name: str
    models: int
    seconds: float = 0.0
    sentences: int = 0
    raw: int = 0
    nodes: int = 0

    def plus(self, seconds: float, batch: Sequence[TimedSentence]) -> GpuRun:
        return self._replace(
            seconds=self.seconds + seconds,
            sentences=self.sentences + len(batch),
            raw=self.raw + raw_tokens(batch),
            nodes=self.nodes + nodes(batch),
        )


class Stages:
    """Seconds between beginning and end of wrapped functions.

    On a GPU that is the time between two events of its own, waiting for the next launch included,
    so a stage that the processor cannot feed fast enough shows its waiting too.
    """

    def __init__(self, device: str) -> None:
        self._is_cuda = device.startswith("cuda")
        self._marks: list[tuple[str, Any, Any]] = []

    @contextmanager
    def wrapping(self, *places: tuple[Any, str, str]) -> Iterator[None]:
        """Measures, for each (owner, attribute, stage), the calls of that function."""
        before = [(owner, attribute, vars(owner).get(attribute)) for owner, attribute, _ in places]
        for owner, attribute, stage in places:
            setattr(owner, attribute, self._measured(stage, getattr(owner, attribute)))
        try:
            yield
        finally:
            for owner, attribute, original in before:
                if original is None:  # it was the class's
                    delattr(owner, attribute)
                else:
                    setattr(owner, attribute, original)

    def seconds(self) -> dict[str, float]:
        """By stage, in the order of their first calls; waits for the GPU."""
        if self._is_cuda:
            torch.cuda.synchronize()
        totals: dict[str, float] = {}
        for stage, begin, end in self._marks:
            seconds = begin.elapsed_time(end) / 1000 if self._is_cuda else end - begin
            totals[stage] = totals.get(stage, 0.0) + seconds
        return totals

    def _measured(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            begin = self._mark()
            result = function(*arguments, **named)
            self._marks.append((stage, begin, self._mark()))
            return result

        return call

    def _mark(self) -> Any:
        if not self._is_cuda:
            return time.perf_counter()
        event: Any = torch.cuda.Event  # untyped in torch
        mark = event(enable_timing=True)
        mark.record()
        return mark


def main(argv: Sequence[str]) -> int:
    arguments = options().parse_args(argv)
    device = arguments.device
    if device.startswith("cuda") and not torch.cuda.is_available():
        print("no CUDA device here; --device cpu --tiny tries the script itself", file=sys.stderr)
        return 2
    try:
        config = TINY if arguments.tiny else PAPER
        vocabulary = resized(load_checkpoint(Path(VOCABULARY)).vocabulary, config.vocabulary_size)
        models = [untrained(config, vocabulary, seed) for seed in range(arguments.models)]
        for checkpoint in models:
            checkpoint.model.to(device)
        name = torch.cuda.get_device_name() if device.startswith("cuda") else device
        print(f"{name}, torch {torch.__version__}, {arguments.models} models, random weights")
        size = 256 if arguments.tiny else 8_192
        best = peak(device, size)
        print(f"Matrix products in float32: {best / 1e12:.2f} TFLOP/s")
        stages = Stages(device)
        runs = [ours(models, arguments, stages)]
        stage_lines = stage_rows(runs[0], stages.seconds(), work_per_token(config), best)
        if arguments.authors:
            runs.append(authors(models[0], arguments))
    except RerankError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"\nSpeed\n{aligned(speed_rows(runs, arguments.models))}")
    raw, left = runs[0].raw, runs[0].nodes
    print(f"{raw:,} raw tokens, {left:,} trie nodes ({raw / left:.2f} times fewer).")
    print(f"\nStages\n{aligned(stage_lines)}")
    return 0


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("--lists", default="examples/parses.txt")
    add("--authors", type=Path, help="a checkout of github.com/nttcslab-nlp/doc_lm")
    add("--sentences", type=int, default=WHOLE)
    add("--candidates", type=int, default=500)
    add("--together", type=int, default=128, help="sentences scored at a time")
    add("--models", type=int, default=5)
    add("--budget", type=float, default=120.0, help="seconds of one line (default: %(default)s)")
    add("--device", default="cuda")
    add("--tiny", action="store_true", help="a small model")
    return parser


def lists(arguments: argparse.Namespace, vocabulary: Vocabulary) -> Iterator[TimedSentence]:
    """As many as asked for, each as long as asked for."""
    given = read(arguments.lists, arguments.candidates)
    for number in range(arguments.sentences):
        nbest = given[number % len(given)]
        yield from encoded([stretched(nbest, arguments.candidates, number)], vocabulary)


def peak(device: str, size: int) -> float:
    """Operations per second of a large matrix product in float32: the best of five."""
    left, right = (torch.randn(size, size, device=device) for _ in range(2))
    return 2 * size**3 / min(timed(lambda: left @ right, device) for _ in range(5))


def timed(action: Callable[[], object], device: str) -> float:
    wait(device)
    started = time.perf_counter()
    action()
    wait(device)
    return time.perf_counter() - started


def wait(device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize()


def ours(models: Sequence[Checkpoint], arguments: argparse.Namespace, stages: Stages) -> GpuRun:
    """Sentences through all models until there are no more or time is up, after some that warm
    up."""
    reranker = Reranker(models, threads=1)  # stages are those of one

    def score(batch: Sequence[TimedSentence]) -> None:
        for _ in reranker.score_lists(sentence.nbest for sentence in batch):
            pass

    vocabulary = models[0].vocabulary
    score(list(islice(lists(arguments, vocabulary), arguments.together)))
    places = [
        (layer, name, LAYERS)
        for each in models
        for layer in each.model.layers
        for name in ("project", "step")
    ]
    places += [(each.model, "mixed", LAYERS) for each in models]
    outputs = [(mixture, "log_normalisers", DECODER), (mixture, "continuations", TARGETS)]
    run, sentences = GpuRun("exact", len(models)), lists(arguments, vocabulary)
    end = time.perf_counter() + arguments.budget
    with stages.wrapping(*places, *outputs):
        while time.perf_counter() < end:
            batch = list(islice(sentences, arguments.together))
            if not batch:
                break
            run = run.plus(timed(partial(score, batch), arguments.device), batch)
    return run


def authors(checkpoint: Checkpoint, arguments: argparse.Namespace) -> GpuRun:
    """The time of the authors' code for one model, with a sentence's raw candidates as a batch; N
    models take N times as long."""
    scorer = AuthorsScorer(arguments.authors, checkpoint, AUTHORS_GIGABYTES)
    run, vocabulary = GpuRun("authors", 1), checkpoint.vocabulary
    scorer.scores(next(lists(arguments, vocabulary)).ids)
    end = time.perf_counter() + arguments.budget
    for sentence in lists(arguments, vocabulary):
        action = partial(scorer.scores, sentence.ids)
        run = run.plus(timed(action, arguments.device), [sentence])
        if time.perf_counter() > end:
            break
    return run


def speed_rows(runs: Sequence[GpuRun], models: int) -> list[list[str]]:
    rows = [["", "sentences", "models", "s", "raw tokens/s and model", f"{WHOLE} x {models}, s"]]
    tokens = runs[0].raw / runs[0].sentences * WHOLE * models
    for run in runs:
        rate = run.raw * run.models / run.seconds
        line = [run.name, f"{run.sentences:,}", f"{run.models}", f"{run.seconds:.2f}"]
        rows.append([*line, f"{rate:,.0f}", f"{tokens / rate:,.1f}"])
    return rows


def stage_rows(
    run: GpuRun, seconds: dict[str, float], work: TokenWork, best: float
) -> list[list[str]]:
    """Where the time went. The rest is building tries, moving numbers and sums on the processor;
    peak is that of a matrix product."""
    needed = {LAYERS: work.lstm + work.projections, DECODER: work.decoder, "all": work.total}
    rows = [["", "s", "of the time", "of peak"]]
    rest = run.seconds - sum(seconds.values())
    for stage, taken in {**seconds, "rest": rest, "all": run.seconds}.items():
        share = needed.get(stage, 0) * run.nodes * run.models / taken / best
        of_peak = f"{100 * share:.1f} %" if stage in needed else "-"
        rows.append([stage, f"{taken:.2f}", f"{100 * taken / run.seconds:.0f} %", of_peak])
    return rows


if __name__ == "__main__":
    keep_freed_memory()
    sys.exit(main(sys.argv[1:]))
