"""A trained span model and its vocabulary in one file: data, never pickled objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reranker.checkpoints.model_file import Format, Trained, saved_settings, with_weights
from reranker.checkpoints.span_vocabulary import AnyPieces, SpanVocabulary
from reranker.checkpoints.strings import check_labels
from reranker.checkpoints.vocabulary import MOST_CLASSED
from reranker.languages import ENGLISH
from reranker.models.piece_encoder import PieceConfig
from reranker.models.span_model import SpanConfig, SpanModel

_LISTS = ("words", "vector_words", "labels", "tags")


@dataclass(frozen=True)  # without slots: Python 3.12.3 then allows no weak reference to it
class SpanCheckpoint(Trained[SpanModel, SpanVocabulary]):
    """A span model."""

    @property
    def punctuation(self) -> frozenset[str] | None:
        """Return the tags of punctuation marks; None for English, whose marks have known tags."""
        if self.language == ENGLISH:
            return None
        return frozenset(self.information.get("punctuation", ()))


def _pack(vocabulary: SpanVocabulary) -> dict[str, str]:
    parts = {
        # Long texts: lists of their words would take several times the space.
        **{name: "\n".join(getattr(vocabulary, name)) for name in _LISTS},
        "pieces": "\n".join(vocabulary.pieces.pieces) if vocabulary.pieces else "",
    }
    if vocabulary.pieces and vocabulary.pieces.scores:
        parts["piece_scores"] = "\n".join(map(str, vocabulary.pieces.scores))
    return parts


def _unpack(content: dict[str, Any], size: int, device: str) -> tuple[SpanModel, SpanVocabulary]:
    config = _config(content["config"])
    counts = (
        config.word_count - 3,
        config.vector_count - 1,
        config.label_count - 2,
        config.tag_count,
    )
    words, vector_words, labels, tags = (
        _lines(content[name], count) for name, count in zip(_LISTS, counts, strict=True)
    )
    # Several constituents over the same words have a space between their labels; one may be empty.
    parts = (part for label in labels for part in label.strip(" ").split(" "))
    check_labels([*parts, *tags])
    pieces = _pieces(content, config.encoder) if config.encoder else None
    vocabulary = SpanVocabulary(words, vector_words, labels, config.spelling_rows, pieces, tags)
    model = with_weights(lambda: SpanModel(config), content["weights"], size, device)
    return model, vocabulary


def _pieces(content: Mapping[str, Any], encoder: PieceConfig) -> AnyPieces:
    known = _lines(content["pieces"], encoder.piece_count)
    if "piece_scores" in content:
        from reranker.checkpoints.unigram_pieces import UnigramPieces

        scores = _lines(content["piece_scores"], encoder.piece_count)
        return UnigramPieces(known, [*map(float, scores)], encoder.per_word)
    from reranker.checkpoints.word_pieces import WordPieces

    return WordPieces(known, encoder.per_word)


def _config(saved: Mapping[str, Any]) -> SpanConfig:
    """Return the model's settings. Raises TypeError or ValueError for invalid ones."""
    settings = saved_settings(saved)
    if settings.get("encoder") is not None:
        settings["encoder"] = PieceConfig(**settings["encoder"])
    return SpanConfig(**settings)


def _lines(text: Any, count: int) -> list[str]:
    """Return the lines of a text. Raises TypeError or ValueError for anything ``save_span_model``
    never writes."""
    if not isinstance(text, str):
        raise TypeError("its words or labels are not text")
    if count > MOST_CLASSED or text.count("\n") + 1 != max(1, count) or bool(text) != bool(count):
        raise ValueError("its words, vectors and labels do not fit its weights")
    return text.split("\n") if text else []


FORMAT = Format(
    "parse-reranker span model",
    version=6,
    made=SpanCheckpoint,
    pack=_pack,
    unpack=_unpack,
    title="a span model",
)
save_span_model, load_span_model = FORMAT.save, FORMAT.load
