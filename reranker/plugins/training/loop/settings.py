"""The settings of `rerank train`, besides the configuration of the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

LESS_MEMORY = "a smaller batch_tokens or batch_size in --config takes less, --shards too"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainSettings:
    """The values of the flags of `rerank train`, by their names; None for a flag that is not
    given."""

    config: Path
    train: Sequence[Path]
    dev: Sequence[Path]
    out: Path
    begun: float
    """``time.monotonic()`` when the command began."""
    train_target: Sequence[Path] | None = None
    dev_target: Sequence[Path] | None = None
    log_folder: Path | None = None
    budget: float | None = None
    """Minutes."""
    epochs: float | None = None
    seed: int | None = None
    language: str | None = None
    precision: str | None = None
    direction: str | None = None
    text: bool | None = None
    fine_tuning: bool | None = None
    start_from: Path | None = None
    vectors: Path | None = None
    vector_words: int = 150_000
    encoder: Path | None = None
    teacher: Path | None = None
    taught_text: Sequence[Path] | None = None
    stream: bool = False
    device: str = "cpu"
    threads: int | None = None
    nproc: int | None = None
    shards: int | None = None
    restarts: int = 3

    @property
    def folder(self) -> Path:
        """Return the folder with the run's log and state."""
        return self.log_folder or Path("runs") / self.out.stem
