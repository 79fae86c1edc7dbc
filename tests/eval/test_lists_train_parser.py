"""eval/lists/train_parser.py: which trees are trained on, and what is packed. The programs that
train are not needed."""

from __future__ import annotations

import tarfile
from collections import Counter
from pathlib import Path

from tests.eval.scripts import module
from tests.reranker.small_files import write

script = module("lists/train_parser.py")
TERMS = ["NP", "NN", "PRP$", "-LRB-", "S1"]


def test_tags_are_respelled_and_strange_trees_counted() -> None:
    unknown: Counter[str] = Counter()
    trees = ["(TOP (NP (PRPP its) (NN cat)))", "(TOP (EDITED (NN uh)))", "(TOP (NP (-LSB- -LSB-)))"]
    assert list(script.usable(trees, TERMS, unknown)) == [
        "(S1 (NP (PRP$ its) (NN cat)))",
        "(S1 (NP (-LRB- -LSB-)))",
    ]
    assert unknown == {"EDITED": 1}


def test_the_same_model_gives_the_same_file(tmp_path: Path) -> None:
    contents = {
        "terms.txt": "NN 2\n",
        "r.g": "1 2\n",
        "train.mrg": "(S1 (NN x))",
        "training.log": "",
    }
    packed = []
    for number, names in enumerate((list(contents), list(contents)[::-1])):
        model = tmp_path / str(number)
        model.mkdir()
        for name in names:
            write(model / name, contents[name])
        out = tmp_path / f"{number}.tar.gz"
        script.pack(model, out)
        packed.append(out.read_bytes())
    assert packed[0] == packed[1]
    with tarfile.open(tmp_path / "0.tar.gz") as archive:
        members = archive.getmembers()
        assert [(one.name, one.mtime, one.uid, one.uname) for one in members] == [
            ("r.g", 0, 0, ""),
            ("terms.txt", 0, 0, ""),
        ]
        file = archive.extractfile("r.g")
        assert file is not None and file.read() == b"1 2\n"
