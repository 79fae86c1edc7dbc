"""eval/encoders/mean_weights.py: the mean of span models, and files that do not fit together."""

from __future__ import annotations

from pathlib import Path

import torch

from reranker.checkpoints.span_file import load_span_model
from tests.eval.scripts import run
from tests.reranker.ensembles import CANDIDATES
from tests.reranker.span_models import save_spans

_KNOWN = {"temperature": 9.0, "dev_perplexity": 2.0}


def written(folder: Path, *names: str, status: int = 0) -> str:
    """Write the mean of these models; return what is said about it."""
    flags = [*names, "--dev", "dev.mrg", "--out", "mean.pt"]
    return run("encoders/mean_weights.py", *flags, folder=folder, status=status).stderr


def test_the_mean_of_models_is_that_of_their_weights(tmp_path: Path) -> None:
    (tmp_path / "dev.mrg").write_text("".join(f"{tree}\n" for tree in CANDIDATES))
    for seed in (1, 2, 3):
        save_spans(tmp_path / f"{seed}.pt", seed, _KNOWN)
    written(tmp_path, "1.pt", "2.pt", "3.pt")
    mean = load_span_model(tmp_path / "mean.pt")
    parts = [load_span_model(tmp_path / f"{seed}.pt") for seed in (1, 2, 3)]
    for name, weight in mean.model.named_parameters():
        expected = torch.stack([part.model.get_parameter(name) for part in parts]).mean(0)
        assert torch.allclose(weight, expected, atol=0.02), name
    assert mean.information["mean_of"] == [part.sha256 for part in parts]
    assert mean.information["temperature"] != 9 and "dev_perplexity" not in mean.information

    save_spans(tmp_path / "4.pt", 4, encoder=True)
    assert written(tmp_path, "1.pt", "4.pt", status=2) == (
        "mean_weights: 4.pt: it does not have the words, labels and sizes of 1.pt\n"
    )
    written(tmp_path, "mean.pt", "1.pt", status=2)  # it would be replaced


def test_shares_weigh_the_models(tmp_path: Path) -> None:
    (tmp_path / "dev.mrg").write_text("".join(f"{tree}\n" for tree in CANDIDATES))
    for seed in (1, 2):
        save_spans(tmp_path / f"{seed}.pt", seed, _KNOWN)
    written(tmp_path, "1.pt", "2.pt", "--shares", "0.25", "0.75")
    mean = load_span_model(tmp_path / "mean.pt")
    first, second = (load_span_model(tmp_path / f"{seed}.pt").model for seed in (1, 2))
    for name, weight in mean.model.named_parameters():
        expected = 0.25 * first.get_parameter(name) + 0.75 * second.get_parameter(name)
        assert torch.allclose(weight, expected, atol=0.02), name
    assert mean.information["shares"] == [0.25, 0.75]
    for wrong in (["0.5", "0.6"], ["1"]):
        assert written(tmp_path, "1.pt", "2.pt", "--shares", *wrong, status=2) == (
            "mean_weights: --shares must be 2 numbers whose sum is 1, one for each model\n"
        )
