"""The benchmark of surprisal: a small run of it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import torch

from benchmarks.surprisal import main
from reranker.checkpoints.checkpoint import save_checkpoint
from tests.reranker.incremental.toy import checkpoint


def test_a_small_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    member = checkpoint(1)
    model, text = tmp_path / "forward.pt", tmp_path / "text.txt"
    save_checkpoint(model, member.model, member.vocabulary, {}, torch.float32)
    text.write_text("It rains.\nBoxes rain here.\n")
    flags = [str(text), "--models", str(model), "--beam", "2", "5"]
    monkeypatch.setattr(sys, "argv", ["surprisal", *flags])
    main()
    lines = capsys.readouterr().out.splitlines()
    assert [re.sub(r"[\d.]+ a CPU", "N a CPU", line) for line in lines] == [
        "K = 2: 7 words, N a CPU-second",
        "K = 5: 7 words, N a CPU-second",
    ]
