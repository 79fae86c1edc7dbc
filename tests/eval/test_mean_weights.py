"""eval/encoders/mean_weights.py: the mean of span models, and files that do not fit together."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import torch

from reranker.checkpoints.span_file import load_span_model, save_span_model
from tests.reranker.ensembles import CANDIDATES
from tests.reranker.span_models import untrained_spans

SCRIPT = Path(__file__).parents[2] / "eval" / "encoders" / "mean_weights.py"
_KNOWN = {"temperature": 9.0, "dev_perplexity": 2.0}


def _run(folder: Path, *names: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, SCRIPT, *names, "--dev", "dev.mrg", "--out", "mean.pt"],
        cwd=folder, capture_output=True, text=True,
    )  # fmt: skip


def test_the_mean_of_models_is_that_of_their_weights(tmp_path: Path) -> None:
    (tmp_path / "dev.mrg").write_text("".join(f"{tree}\n" for tree in CANDIDATES))
    for seed in (1, 2, 3):
        spans = untrained_spans(seed)
        save_span_model(tmp_path / f"{seed}.pt", spans.model, spans.vocabulary, _KNOWN)
    assert _run(tmp_path, "1.pt", "2.pt", "3.pt").returncode == 0
    mean = load_span_model(tmp_path / "mean.pt")
    parts = [load_span_model(tmp_path / f"{seed}.pt") for seed in (1, 2, 3)]
    for name, weight in mean.model.named_parameters():
        expected = torch.stack([part.model.get_parameter(name) for part in parts]).mean(0)
        assert torch.allclose(weight, expected, atol=0.02), name
    assert mean.information["mean_of"] == [part.sha256 for part in parts]
    assert mean.information["temperature"] != 9 and "dev_perplexity" not in mean.information

    other = untrained_spans(4, encoder=True)
    save_span_model(tmp_path / "4.pt", other.model, other.vocabulary, {})
    refused = _run(tmp_path, "1.pt", "4.pt")
    expected_message = "mean_weights: 4.pt: it does not have the words, labels and sizes of 1.pt\n"
    assert (refused.returncode, refused.stderr) == (2, expected_message)
    assert _run(tmp_path, "mean.pt", "1.pt").returncode == 2  # it would be replaced
