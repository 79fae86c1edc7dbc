"""A tiny treebank in each of three scripts, and ensembles trained on it in a user's folder."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from reranker.commands.main import main
from tests.reranker.plots import no_plots

SPANS = """[model]
architecture = "spans"
embedding_size = 8
spelling_size = 4
spelling_rows = 32
hidden_sizes = [12]
span_size = 12

[training]
epochs = 30
learning_rate = 2e-2
minimum_count = 1
minimum_tags = 1
warmup_batches = 5
"""
MODEL = """[model]
embedding_size = 6
hidden_sizes = [8]
components = [0, 1]

[training]
epochs = 3
minimum_count = 1
warmup_batches = 5
"""


class Example(NamedTuple):
    """A language: trees, a text of two sentences, and the words found in it."""

    trees: str
    text: str
    words: list[str]


EXAMPLES = {
    "id": Example(
        """(TOP (S (NP (NNO Ibu) (NNO guru)) (VP (VBI datang)) (PUN .)))
(TOP (S (NP (NNO Anak) (PUN -) (NNO anak)) (VP (VBT membaca) (NP (NNO buku))) (PUN .)))
(TOP (S (NP (NNO Ibu)) (VP (VBT membaca) (NP (NNO buku) (PRK nya))) (PUN .)))
""",
        "Ibu guru membaca bukunya. Anak-anak datang!",
        ["Ibu guru membaca buku nya .", "Anak - anak datang !"],
    ),
    "zh": Example(
        """(TOP (IP (NP (PN 我们)) (VP (VV 喜欢) (NP (NN 音乐))) (PU 。)))
(TOP (IP (NP (NN 老师)) (VP (VV 来) (AS 了)) (PU 。)))
(TOP (IP (NP (NN 老师)) (VP (ADVP (AD 不)) (VP (VV 喜欢) (NP (NN 音乐)))) (PU 。)))
""",
        "我们喜欢音乐。老师来了。",
        ["我们 喜欢 音乐 。", "老师 来 了 。"],
    ),
    "ar": Example(
        """(TOP (S (VP (VBD ذهب) (NP (NN الولد)) (PP (IN إلى) (NP (NN المدرسة)))) (PUNC .)))
(TOP (S (VP (VBD كتب) (NP (NN الولد)) (NP (NN الدرس))) (PUNC .)))
(TOP (S (VP (VBD ذهب) (NP (NN الأب))) (PUNC .)))
""",
        "ذهب الولد إلى المدرسة. كتب الأب الدرس.",
        ["ذهب الولد إلى المدرسة .", "كتب الأب الدرس ."],
    ),
}


def install(language: str, folder: Path) -> None:
    """Train both models of a language and install them in ``folder``."""
    folder.mkdir(parents=True)
    trees = folder / "trees.txt"
    trees.write_text(EXAMPLES[language].trees, encoding="utf-8")
    for name, config in (("parser", SPANS), ("words", MODEL)):
        path = folder / f"{name}.toml"
        path.write_text(config)
        logs = ["--log-folder", str(folder / name)]
        flags = ["--config", path, "--train", trees, "--dev", trees, "--language", language]
        with no_plots():
            status = main(["train", *map(str, flags), "--out", str(folder / f"{name}.pt"), *logs])
        assert status == 0
        path.unlink()
    about = f'name = "{language}-mine"\nlanguage = "{language}"\nparser = "parser.pt"\n'
    (folder / "about.toml").write_text(about)
