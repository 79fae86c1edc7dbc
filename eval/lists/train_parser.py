"""A model for the BLLIP parser, trained on treebanks and packed into one file, for
`rerank parse --parser-model`.

    python eval/lists/train_parser.py gum/train.mrg.gz craft/train.mrg.gz --static MODEL \\
        --programs bllip-parser/first-stage/TRAIN --out bllip-gum-craft.tar.gz

It needs the training programs that come with BLLIP's source (github.com/BLLIP/bllip-parser), built
there by `make CXX="g++ -std=gnu++98"`, and MODEL, a folder with the files that they do not make
(terms.txt, headInfo.txt, bugFix.txt, featInfo.*), for instance a trained one that knows the
treebanks' labels. Trees have `TOP` at their root. Tags that GENIA and MASC spell in their own way
are respelled; a tree with a label that the model's terms.txt does not list, which would end the
programs, is left out and counted. Training takes one to three minutes. The file depends on the
model alone: no names, times or owners are in it.
"""

from __future__ import annotations

import argparse
import gzip
import io
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from reranker.files.output import whole_file
from reranker.files.text import read_lines
from reranker.process.flags import reporting_errors

_NODE = re.compile(r"\(([^\s()]+) ")
_SPELLED = {"PRPP": "PRP$", "WPP": "WP$", "-LSB-": "-LRB-", "-RSB-": "-RRB-", "SU": "SYM"}
_NOT_OF_THE_MODEL = ("train.mrg", "tune.mrg", "training.log")
_STATIC = ("terms.txt", "headInfo.txt", "bugFix.txt", "featInfo.*")
_TUNED_ON = 30  # every 30th tree; the programs use the first 1,000


@reporting_errors("train_parser")
def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("trees", type=Path, nargs="+", help="files of one tree per line, .gz")
    parser.add_argument("--programs", type=Path, required=True)
    parser.add_argument("--static", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="ends in .tar.gz")
    arguments = parser.parse_args()
    terms = (arguments.static / "terms.txt").read_text("utf-8").split()[::2]
    unknown: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder).resolve()
        for pattern in _STATIC:
            for path in arguments.static.glob(pattern):
                shutil.copy(path, model)
        trees = (line.strip() for path in arguments.trees for line in read_lines(path))
        train(model, usable(trees, terms, unknown), arguments.programs)
        pack(model, arguments.out)
    for label, count in unknown.most_common():
        print(f"{count} trees left out: {label} is not in terms.txt")
    print(f"{arguments.out}: {arguments.out.stat().st_size / 1e6:.1f} MB")
    return 0


def usable(trees: Iterable[str], terms: Iterable[str], unknown: Counter[str]) -> Iterator[str]:
    """Yield the trees with the root and the tags that BLLIP knows; ``unknown`` counts those left
    out, by the first label that is not among ``terms``."""
    known = frozenset(terms)
    for tree in trees:
        spelled = _NODE.sub(lambda node: f"({_SPELLED.get(node[1], node[1])} ", tree)
        spelled = "(S1 " + spelled.removeprefix("(TOP ")
        strange = next((label for label in _NODE.findall(spelled) if label not in known), None)
        if strange is None:
            yield spelled
        else:
            unknown[strange] += 1


def train(model: Path, trees: Iterable[str], programs: Path) -> None:
    """Run the training programs in a folder that has the static files already."""
    parts: tuple[list[str], list[str]] = ([], [])
    for number, tree in enumerate(trees):
        parts[number % _TUNED_ON == 0].append(tree + "\n")
    command = ["bash", str(programs / "trainParser"), "-parser", str(model)]
    for name, part in zip(("train.mrg", "tune.mrg"), parts, strict=True):
        (model / name).write_text("".join(part), "utf-8")
        command.append(str(model / name))
    with (model / "training.log").open("w") as log:
        subprocess.run(command, check=True, stdout=log, stderr=log)


def pack(model: Path, out: Path) -> None:
    """Pack the files of a model that the parser reads into one that depends on nothing else."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path in sorted(model.iterdir()):
            if path.name not in _NOT_OF_THE_MODEL:
                entry = tarfile.TarInfo(path.name)
                entry.size = path.stat().st_size
                with path.open("rb") as file:
                    archive.addfile(entry, file)
    with whole_file(out) as packed:
        packed.write(gzip.compress(content.getvalue(), 9, mtime=0))


if __name__ == "__main__":
    sys.exit(main())
