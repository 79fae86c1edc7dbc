"""The gain from more trees: a parser trained on 500, 1,000, ... of a treebank's trees, and F1 of
the first tree that each proposes for the dev sentences.

    python eval/tables/learning_curve.py train.mrg.gz dev.mrg.gz --sizes 500 1000 2000 4000 \\
        --train "--config parser-frozen --language id --encoder e5" \\
        --train "--config parser-multilingual --language id" \\
        --work runs/curve --plot curve.png

Each `--train` is what `rerank train` is told besides data and `--out`; the second starts from what
the first made. Trees are taken evenly from the whole file. Everything is kept in the folder of
`--work`: a run that was stopped resumes, and sizes that are there are not trained again.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from reranker.errors import RerankError
from reranker.files.figure import new_figure, save_figure
from reranker.files.output import check_new, make_folder, output_path, whole_file
from reranker.files.table import grid
from reranker.process.flags import positive, reporting_errors, script_parser
from reranker.trees.linearize import cleaned
from reranker.trees.treebank import read_treebank, treebank_files


def rerank(*arguments: object) -> str:
    """Run a command; return the text that it prints. Raises RerankError if it fails."""
    command = [sys.executable, "-m", "reranker", *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise RerankError(f"{shlex.join(command)} failed")
    return done.stdout


def write_lines(path: Path, lines: Sequence[str]) -> None:
    """Write the lines, unless the file has them. Raises InputError if it has others."""
    text = "".join(f"{line}\n" for line in lines).encode()
    with whole_file(path, lambda there: there.read_bytes() == text) as file:
        file.write(text)


def evenly(trees: Sequence[str], size: int) -> list[str]:
    """Return so many of the trees, from all parts of the file; all of them where there are
    fewer."""
    size = min(size, len(trees))
    return [trees[place * len(trees) // size] for place in range(size)]


def trained(trees: Path, dev: Path, stages: Sequence[str], threads: int) -> Path:
    """Return the parser of the last stage."""
    start: list[object] = []
    for number, flags in enumerate(stages, 1):
        out = trees.with_name(f"stage-{number}.pt")
        logs = trees.with_name(f"logs-{number}")
        if not out.with_suffix(".done").exists():
            data = ["--train", trees, "--dev", dev, "--out", out, "--log-folder", logs]
            rerank("train", *shlex.split(flags), *start, *data, "--threads", threads)
            out.with_suffix(".done").touch()
        start = ["--start-from", out]
    return out


def figures(parser: Path, words: Path, dev: Path, threads: int) -> tuple[float, float]:
    """Return F1 and the accuracy of tags, in per cent, of first trees."""
    best = parser.with_suffix(".first.mrg")
    given = [words, "--tokens", "--parser-model", parser, "--candidates", 1]
    rerank("parse", *given, "--out", best, "--threads", threads)
    summary = json.loads(rerank("eval", dev, best, "--json"))["all"]
    return summary["f1"], summary["tagging_accuracy"]


def plot(rows: Sequence[tuple[int, float, float]], path: Path) -> None:
    figure = new_figure(path)
    axes = figure.add_subplot()
    sizes, scores, _ = zip(*rows, strict=True)
    axes.plot(sizes, scores, marker="o")
    for size, score in zip(sizes, scores, strict=True):
        axes.annotate(
            f"{score:.1f}", (size, score), (0, 7), textcoords="offset points", ha="center"
        )
    axes.set_xscale("log")
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    axes.margins(y=0.12)
    axes.set(xlabel="training trees", ylabel="F1 of the first tree")
    axes.grid(alpha=0.3)
    save_figure(figure, path)


@reporting_errors("learning_curve.py")
def main(argv: Sequence[str] | None = None) -> int:
    parser = script_parser("learning_curve.py", __doc__)
    add = parser.add_argument
    add("trees", metavar="TRAIN", help="a treebank")
    add("dev", metavar="DEV", help="the trees by which F1 is found")
    add("--sizes", type=positive, nargs="+", required=True, help="how many trees")
    add("--train", action="append", required=True, dest="stages", metavar="FLAGS")
    add("--work", type=Path, required=True, help="a folder for what is made")
    add("--plot", type=Path, metavar="FILE", help="a picture of the curve")
    add("--threads", type=positive, default=1)
    given = parser.parse_args(argv)
    picture = output_path(given.plot, treebank_files([given.trees, given.dev]))
    trees = [cleaned(tree).to_string() for tree in read_treebank([given.trees])]
    dev, words = given.work / "dev.mrg", given.work / "dev.words"
    make_folder(given.work)
    gold = [cleaned(tree) for tree in read_treebank([given.dev])]
    write_lines(dev, [tree.to_string() for tree in gold])
    write_lines(words, [" ".join(tree.words()) for tree in gold])
    rows = []
    for size in given.sizes:
        folder = given.work / str(size)
        if not (folder / "train.mrg").exists():
            check_new(folder, "choose another --work")
        make_folder(folder)
        write_lines(folder / "train.mrg", evenly(trees, size))
        model = trained(folder / "train.mrg", dev, given.stages, given.threads)
        rows.append((size, *figures(model, words, dev, given.threads)))
    table = [(f"{size:,}", f"{f1:.2f}", f"{tags:.2f}") for size, f1, tags in rows]
    print(grid(("trees", "F1", "tags"), table))
    if picture is not None:
        plot(rows, picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
