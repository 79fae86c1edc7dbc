"""Files that earlier versions of the program wrote are still read (docs/developing/releasing.md).

Each is made here from what its version had. Whoever raises a version adds a line: a table has one
for every version before the newest.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial, reduce
from operator import getitem
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

from reranker.checkpoints import checkpoint, ensemble_file, span_file
from reranker.checkpoints.archive import read_archive, write_atomically
from reranker.checkpoints.checkpoint import save_checkpoint
from reranker.checkpoints.ensemble_file import read_ensemble_file
from reranker.checkpoints.model_file import Format, Trained, content_sha256
from reranker.checkpoints.span_file import save_span_model
from reranker.files.opening import file_sha256
from reranker.outputs.ranked_file import best_tree, is_ranked, read_ranked
from reranker.plugins.generation import encoder_decoder_file
from reranker.plugins.generation.encoder_decoder_file import save_generator
from reranker.plugins.generation.pair_vocabulary import Pair, PairVocabulary
from reranker.ranking import OUTPUT_VERSION
from tests.models.encoder_decoders import CONFIGS, build
from tests.reranker.ensembles import untrained
from tests.reranker.span_models import untrained_spans


class Kind(NamedTuple):
    """A kind of checkpoint."""

    format: Format[Any]
    save: Callable[[Path], None]
    load: Callable[[Path], Trained[Any, Any]]
    added: Mapping[int, tuple[str, ...]]
    """The additions of each version after the first: keys, or `config.KEY`."""
    first: int = 1
    """The first version that had such a model."""


def save_language_model(path: Path) -> None:
    member = untrained(1)
    save_checkpoint(path, member.model, member.vocabulary, {"dev_perplexity": 7.5}, torch.float32)


def save_spans(path: Path, *, encoder: bool = False) -> None:
    member = untrained_spans(1, encoder=encoder)
    save_span_model(path, member.model, member.vocabulary, {"dev_perplexity": 2.5}, torch.float32)


def save_encoder_decoder(path: Path) -> None:
    pairs = [Pair(("ein", "hund"), ("a", "dog")), Pair(("hunde",), ("dogs",))]
    vocabulary = PairVocabulary.build("text", pairs, 3, 1)
    config = replace(
        CONFIGS["EncDec"],
        vocabulary_size=len(vocabulary.target),
        source_vocabulary_size=vocabulary.source_size,
    )
    save_generator(path, build(config), vocabulary, {"tokens": 3}, torch.float32)


KINDS = {
    "language model": Kind(
        checkpoint.FORMAT,
        save_language_model,
        checkpoint.load_checkpoint,
        {2: ("word_classes", "backward"), 3: ("class_rules",), 4: ("sha256",), 5: ("reads_tags",)},
    ),
    "span model": Kind(
        span_file.FORMAT,
        save_spans,
        span_file.load_span_model,
        {
            2: ("pieces", "config.encoder"),
            3: ("tags", "config.tag_count"),
            4: ("sha256",),
            5: ("piece_scores",),
            6: (),
        },
    ),
    "span model with an encoder": Kind(
        span_file.FORMAT,
        partial(save_spans, encoder=True),
        span_file.load_span_model,
        {
            3: ("tags", "config.tag_count"),
            4: ("sha256",),
            5: ("piece_scores",),
            6: ("config.encoder.distance_classes",),
        },
        first=2,
    ),
    "encoder-decoder": Kind(
        encoder_decoder_file.FORMAT,
        save_encoder_decoder,
        encoder_decoder_file.load_generator,
        {2: ("sha256",)},
    ),
}
VERSIONS = [
    (name, each) for name, kind in KINDS.items() for each in range(kind.first, kind.format.version)
]


@pytest.mark.parametrize("name", KINDS)
def test_it_is_known_what_each_version_added(name: str) -> None:
    kind = KINDS[name]
    assert [*kind.added] == [*range(kind.first + 1, kind.format.version + 1)]


@pytest.mark.parametrize(("name", "version"), VERSIONS)
def test_checkpoints_of_every_version_are_read(name: str, version: int, tmp_path: Path) -> None:
    kind, path = KINDS[name], tmp_path / "model.pt"
    kind.save(path)
    newest = kind.load(path)
    content = read_archive(path).content
    for later in range(version + 1, kind.format.version + 1):
        for key in kind.added[later]:
            *tables, last = key.split(".")
            reduce(getitem, tables, content).pop(last, None)
    content["version"] = version
    if content.pop("sha256", None) is not None:  # the hash of a file of that version
        content["sha256"] = content_sha256(content)
    write_atomically(path, content)
    loaded = kind.load(path)
    assert loaded.model.config == newest.model.config
    assert loaded.information == newest.information
    for weight, expected in zip(loaded.model.parameters(), newest.model.parameters(), strict=True):
        assert torch.equal(weight, expected)


MEMBER = '\n[[members]]\nfile = "model.pt"\nsha256 = "{sha256}"\nweight = 0.5\n'
ENSEMBLES = {
    1: MEMBER,
    2: MEMBER + "\n[confidence]\nintercept = -0.25\nmodels = 0.5\nparser = 0.1\n",
}


def test_ensembles_of_every_version_are_read(tmp_path: Path) -> None:
    assert [*ENSEMBLES] == [*range(1, ensemble_file._VERSION + 1)]
    (tmp_path / "model.pt").write_bytes(b"weights")
    sha256 = file_sha256(tmp_path / "model.pt")
    for version, tables in ENSEMBLES.items():
        path = tmp_path / "ensemble.toml"
        head = (
            f'version = {version}\ncriterion = "perplexity"\nlm_weight = 0.4\ntoken_bonus = 0.1\n'
        )
        path.write_text(head + tables.replace("{sha256}", sha256))
        models = read_ensemble_file(path)
        assert (models.weighing.lm_weight, models.weighing.token_bonus) == (0.4, 0.1)
        assert models.weighing.member_weights == (0.5,) * len(models.paths)
        assert (models.calibration is not None) == (version == 2)


TREE = "(S1 (S (NP (PRP It)) (VP (VBZ runs))))"
# The keys of the first line that `rerank --output ranked` ever wrote.
RANKED: dict[int, dict[str, Any]] = {
    1: {
        "version": 1,
        "id": "s1",
        "status": "ok",
        "best_index": 0,
        "margin": None,
        "fallback": None,
        "ranking": [
            {
                "index": 0,
                "score": -12.5,
                "nll": 12.5,
                "perplexity": 3.49,
                "tokens": 10,
                "unknown_words": 0,
                "parser_score": None,
                "duplicate_of": None,
                "repaired": False,
                "tree": TREE,
            }
        ],
        "rejected": [],
    }
}
# Perplexity is of the language models alone.
RANKED[2] = RANKED[1] | {
    "version": 2,
    "ranking": [RANKED[1]["ranking"][0] | {"token_perplexity": 2.1, "span_nll": 3.5}],
}


def test_ranked_output_of_every_version_is_read() -> None:
    assert [*RANKED] == [*range(1, OUTPUT_VERSION + 1)]
    for version, sentence in RANKED.items():
        line = json.dumps(sentence)
        assert is_ranked(line)
        (read,) = read_ranked(f"version {version}", [line], with_indexes=True)
        assert best_tree(read) == TREE
