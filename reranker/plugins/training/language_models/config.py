"""The settings of training a language model; ``models/configs/`` holds one file per run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from reranker.models import ARCHITECTURES, AwdLstmDoc, Config, LanguageModel
from reranker.plugins.training.corpus.tree_files import Reads
from reranker.plugins.training.language_models.start import Initialisation
from reranker.plugins.training.loop.config import RunConfig


@dataclass(frozen=True, slots=True)
class TrainingConfig(RunConfig):
    """The settings of a training. ``recipe`` is one of three; each ignores settings of the others.

    ``fast``: AdamW with warm-up and linear decay to zero over the budget, batches of whole trees.
    ``paper``: SGD, then averaged SGD, on one stream, truncated BPTT (docs/research/training.md).
    ``thesis``: Adam, its rate always the same, on one stream with truncated BPTT.
    """

    recipe: Literal["fast", "paper", "thesis"] = "fast"
    text: bool = False  # running text instead of trees
    reads: Reads = "words"  # of trees; with tags, each word is replaced by its tag
    start: Initialisation = "fast"  # how weights are initialised
    direction: Literal["forward", "backward"] = "forward"  # trees are read from start or end
    word_classes: int = 256  # of similar words; only with word vectors
    batch_size: int = 12  # paper, thesis: columns of the stream
    sequence_length: int = 70  # of the truncated BPTT; paper: its mean
    non_monotone_interval: int = 60  # paper: evaluations without improvement that end a phase
    fine_tuning: bool = True  # paper: averaged SGD again and again, until it brings nothing
    activation_regularization: float = 0.0  # alpha, on the dropped h^N
    temporal_regularization: float = 0.0  # beta, on the change of h^N
    mixture_balance: float = 1e-3  # lambda_beta, on the variation of the mixture weights
    # Of beta (docs/research/training.md).
    mixture_balance_form: Literal["printed", "authors"] = "printed"
    validation_trees: int = 0  # taken evenly from the dev trees; 0 is all
    precision: Literal["bfloat16", "float32"] = "float32"  # of matrix products; weights are float32

    def check(self) -> None:
        RunConfig.check(self)
        if self.text:
            self._check_text()
        self.at_least_one("batch_size", "sequence_length", "non_monotone_interval")
        if self.recipe == "paper" and self.keep == "last":
            raise ValueError(
                "keep = last does not go with recipe = paper, which returns to the best weights "
                "until they stop improving"
            )
        if self.recipe != "fast" and self.shards > self.batch_size:
            raise ValueError(
                f"shards is {self.shards}, but a batch has batch_size = {self.batch_size} columns"
            )
        self.model_config(vocabulary_size=1)

    def _check_text(self) -> None:
        if self.recipe == "fast":
            raise ValueError(
                "text needs recipe paper or thesis: the fast one reads every tree from the start"
            )
        if self.direction == "backward":
            raise ValueError("text is read forward, but direction is backward")
        if self.reads == "tags":
            raise ValueError("text has no tags, but reads is tags")
        if self.validation_trees:
            raise ValueError("validation_trees is for trees; all of the dev text is read")

    @property
    def architecture(self) -> str:
        """Return the architecture's name, ``awd-lstm-doc`` unless [model] says otherwise."""
        return str(self.model.get("architecture", AwdLstmDoc.architecture))

    def model_config(self, vocabulary_size: int) -> Config:
        """Return the model's configuration. Raises TypeError or ValueError for a wrong setting."""
        if self.architecture not in ARCHITECTURES:
            known = ", ".join(ARCHITECTURES)
            raise ValueError(f"architecture must be one of {known}, got {self.architecture!r}")
        config_class, _ = ARCHITECTURES[self.architecture]
        return config_class(vocabulary_size=vocabulary_size, **self.model_settings(config_class))

    def new_model(self, vocabulary_size: int) -> LanguageModel:
        """Return a new, untrained model. Raises the errors of ``model_config``."""
        _, make = ARCHITECTURES[self.architecture]
        return make(self.model_config(vocabulary_size))
