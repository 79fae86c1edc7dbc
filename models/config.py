"""The settings of every language model; those of one architecture are in its file."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Config:
    """Sizes and dropout rates; the defaults are AWD-LSTM-DOC's for the Penn Treebank (Takase et
    al. 2018, Table 2).

    ``components`` counts the softmaxes computed from each of ``layer_sizes``, i_0 (the embedding)
    to i_N; empty means one softmax over the last of them itself, whose size must then be the
    embedding's if tied.
    """

    vocabulary_size: int
    embedding_size: int = 280
    hidden_sizes: tuple[int, ...] = (960, 960, 620)
    components: tuple[int, ...] = (0, 0, 5, 15)
    component_activation: str = "tanh"  # the authors' code; "none" is equation 11 as printed
    tied: bool = True
    word_dropout: float = 0.1
    embedding_dropout: float = 0.4
    hidden_dropout: float = 0.225
    output_dropout: float = 0.4
    component_dropout: float = 0.6
    recurrent_weight_dropout: float = 0.5
    embedding_range: float = 0.1

    def __post_init__(self) -> None:
        if min(self.vocabulary_size, self.embedding_size, *self.hidden_sizes, 1) < 1:
            raise ValueError("vocabulary_size, embedding_size and hidden_sizes must be positive")
        if not self.hidden_sizes:
            raise ValueError("hidden_sizes must have a size for each layer, at least one")
        sizes = self.layer_sizes
        if self.components and len(self.components) != len(sizes):
            reader = " and one for h*" if self.reader_size else ""
            raise ValueError(
                "components needs a count for the embedding and one for each layer"
                f"{reader}: {len(sizes)} in all"
            )
        if self.components and (min(self.components) < 0 or sum(self.components) == 0):
            raise ValueError("components must count at least one softmax in all, and none negative")
        if self.component_activation not in ("tanh", "none"):
            raise ValueError("component_activation must be tanh or none")
        if not self.components and self.tied and sizes[-1] != self.embedding_size:
            raise ValueError(
                f"a tied softmax needs an embedding_size of {sizes[-1]}, the size of what it is "
                "computed from"
            )
        for name in (each.name for each in fields(self) if each.name.endswith("_dropout")):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} must be in [0, 1), got {getattr(self, name)}")

    @property
    def reader_size(self) -> int:
        """Return the size of h*, which a reader computes from the last layer's outputs; 0 without a
        reader."""
        return 0

    @property
    def layer_sizes(self) -> tuple[int, ...]:
        """Return the sizes of h^0 (the embedding) to h^N, and of h* where there is a reader."""
        sizes = (self.embedding_size, *self.hidden_sizes)
        return (*sizes, self.reader_size) if self.reader_size else sizes


@dataclass(frozen=True, slots=True)
class ThesisConfig(Config):
    """The defaults of Daniluk (2016): one layer, one softmax, nothing tied, no dropout."""

    embedding_size: int = 300
    hidden_sizes: tuple[int, ...] = (300,)
    components: tuple[int, ...] = ()
    tied: bool = False
    word_dropout: float = 0.0
    embedding_dropout: float = 0.0
    hidden_dropout: float = 0.0
    output_dropout: float = 0.0
    component_dropout: float = 0.0
    recurrent_weight_dropout: float = 0.0


@dataclass(frozen=True, slots=True)
class WindowConfig(ThesisConfig):
    """The configuration of a model that looks back at the last L = ``window`` tokens."""

    window: int = 4

    def __post_init__(self) -> None:
        # No weight depends on it, so without a limit a checkpoint could ask for any amount of
        # memory; no model is known to gain from more than 20.
        if type(self.window) is not int or not 1 <= self.window <= 1_000:
            raise ValueError(f"window must be an integer from 1 to 1000, got {self.window}")
        ThesisConfig.__post_init__(self)


def parts_of(hidden_size: int, parts: int) -> int:
    """Return the size of each of ``parts`` equal parts. Raises ValueError if the size is not a
    whole number."""
    if hidden_size % parts:
        raise ValueError(
            f"the last of hidden_sizes is {hidden_size}, which is not a multiple of {parts}"
        )
    return hidden_size // parts
