"""A trained language model and its vocabulary in one file: data, never pickled objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from reranker.checkpoints.model_file import Format, Trained, saved_settings, with_weights
from reranker.checkpoints.strings import check_labels_of
from reranker.checkpoints.vocabulary import MOST_CLASSED, Vocabulary
from reranker.models import ARCHITECTURES, LanguageModel

# The numbers in a file of the rules for classes of unknown words: Choe & Charniak's, neutral ones.
_ENGLISH_RULES, _NEUTRAL_RULES = 2, 3
READS_TAGS = "a language model that reads tags in place of words, for ensembles with a span model"


@dataclass(frozen=True, slots=True)
class Checkpoint(Trained[LanguageModel, Vocabulary]):
    """A language model."""


def _pack(vocabulary: Vocabulary) -> dict[str, Any]:
    parts: dict[str, Any] = {
        "vocabulary": list(vocabulary.symbols),
        "word_classes": _packed(vocabulary.classes),
        "class_rules": _NEUTRAL_RULES if vocabulary.neutral else _ENGLISH_RULES,
        "backward": vocabulary.backward,
    }
    if vocabulary.neutral:
        parts["affixes"] = " ".join(vocabulary.affixes)
    if vocabulary.reads_tags:
        parts["reads_tags"] = True
    return parts


def _unpack(content: dict[str, Any], size: int, device: str) -> tuple[LanguageModel, Vocabulary]:
    model = _model(content, size, device)
    vocabulary = _vocabulary(content, size)
    if len(vocabulary) != model.config.vocabulary_size:
        raise ValueError(
            f"{len(vocabulary)} symbols for {model.config.vocabulary_size} embedding rows"
        )
    return model, vocabulary


def _model(content: dict[str, Any], most_bytes: int, device: str) -> LanguageModel:
    """Return the model of a checkpoint. Raises one of several errors for a broken one."""
    config_class, model_class = ARCHITECTURES[content["architecture"]]
    settings = saved_settings(content["config"])
    return with_weights(
        lambda: model_class(config_class(**settings)), content["weights"], most_bytes, device
    )


def _vocabulary(content: dict[str, Any], most_bytes: int) -> Vocabulary:
    is_backward, reads_tags = content["backward"], content.get("reads_tags", False)
    for name, value in (("backward", is_backward), ("reads_tags", reads_tags)):
        if type(value) is not bool:
            raise TypeError(f"{name} must be true or false, got {value!r}")
    check_labels_of(content["vocabulary"])
    classes = _unpacked(content["word_classes"], most_bytes)
    rules = content["class_rules"]
    if type(rules) is not int or rules not in (_ENGLISH_RULES, _NEUTRAL_RULES):
        raise ValueError(f"class_rules must be 2 or 3, got {rules!r:.40}")
    neutral = None
    if rules == _NEUTRAL_RULES:
        from reranker.checkpoints.neutral_classes import NeutralClasses

        neutral = NeutralClasses(content["affixes"].split())
    return Vocabulary(content["vocabulary"], classes, is_backward, neutral, reads_tags)


def _packed(classes: Mapping[str, int]) -> dict[str, Any] | None:
    """Return the classes as two long values: a hundred thousand strings and numbers would take many
    times the space."""
    if not classes:
        return None
    numbers = torch.tensor([*classes.values()], dtype=torch.int32)
    return {"words": "\n".join(classes), "numbers": numbers}


def _unpacked(packed: Any, most_bytes: int) -> dict[str, int]:
    """Invert ``_packed``. Raises ValueError or TypeError for anything it never returns."""
    if packed is None:
        return {}
    words, numbers = packed["words"], packed["numbers"]
    if len(words) > most_bytes or numbers.nbytes > most_bytes:
        raise ValueError("its word classes claim to be larger than the file")
    if numbers.dtype not in (torch.int16, torch.int32) or numbers.dim() != 1:
        raise TypeError("the numbers of its word classes are not integers")
    if len(numbers) > MOST_CLASSED or words.count("\n") + 1 != len(numbers):
        raise ValueError(f"{len(numbers)} class numbers for its words")
    classes = dict(zip(words.split("\n"), numbers.tolist(), strict=True))
    if len(classes) != len(numbers) or min(classes.values()) < 0:
        raise ValueError("a word has two classes or a negative one")
    return classes


FORMAT = Format(
    "parse-reranker checkpoint",
    version=4,
    made=Checkpoint,
    pack=_pack,
    unpack=_unpack,
    others={
        "encoder-decoder": "an encoder-decoder, for `rerank generate`",
        "spans": "a span model, where a language model is needed",
    },
)
save_checkpoint, load_checkpoint = FORMAT.save, FORMAT.load
