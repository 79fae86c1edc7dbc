"""Messages of commands that run out of memory, in real processes with little of it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from reranker.checkpoints.checkpoint import save_checkpoint
from reranker.checkpoints.vocabulary import Vocabulary
from reranker.commands.main import main
from reranker.models import AwdLstmDoc, Config
from reranker.pipeline import Reranker
from tests.reranker.ensembles import CANDIDATES
from tests.reranker.limited_runs import with_little_memory
from tests.reranker.small_files import bllip, write

MB = 1 << 20

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc says how much there is")


def last_line(more: int, arguments: Sequence[str]) -> str:
    """Return the last line printed by a run that lacks memory."""
    status, messages = with_little_memory(more, arguments)
    assert status == 3, messages
    assert "Traceback" not in messages
    return messages.splitlines()[-1]


def test_a_model_that_does_not_fit_is_not_called_broken(tmp_path: Path) -> None:
    vocabulary = Vocabulary.build([CANDIDATES[0].split()], 1)
    wide = AwdLstmDoc(Config(len(vocabulary), 500, (500, 500, 500), components=(0, 0, 0, 1)))
    path = tmp_path / "wide.pt"
    save_checkpoint(path, wide, vocabulary, {}, torch.float32)
    lists = write(tmp_path / "lists.txt", bllip(CANDIDATES))
    line = last_line(20 * MB, ["--nbest", lists, "--models", str(path), "--threads", "1"])
    assert line.startswith(f"rerank: out of memory ({path}")
    assert line.endswith("; fewer --threads or a smaller ensemble (--models) take less")


def test_what_was_written_before_is_kept_and_resumed(tmp_path: Path, models: list[str]) -> None:
    """The list that does not fit comes after 400 that do."""
    last = [CANDIDATES[0].replace("saw", "saw" * 5_000)] * 3_000
    lists = bllip(*[CANDIDATES[:3]] * 400, last)
    arguments = ["--nbest", write(tmp_path / "l.txt", lists), "--models", *models[:1]]
    out = tmp_path / "o"
    resumable = [*arguments, "--threads", "1", "--out", str(out)]
    # The last list takes more than 200 MB, all before it 60 to 90.
    line = last_line(130 * MB, resumable)
    assert line.startswith("rerank: out of memory")
    kept = out.with_name("o.part").read_text().count("\n")
    assert 0 < kept < 400
    command = shlex.join([*resumable, "--resume"])
    assert f"; {kept} sentences are kept; to continue: " in line and line.endswith(command)
    assert main([*resumable, "--resume"]) == 0
    reranker = Reranker.load(models[:1], threads=1)
    trees = [reranker.rerank(some).tree for some in (CANDIDATES[:3], last[:1])]
    assert out.read_text() == f"{trees[0]}\n" * 400 + f"{trees[1]}\n"


@pytest.mark.plugins
def test_training_says_which_settings_take_less(tmp_path: Path) -> None:
    config = "[training]\nepochs = 1\nminimum_count = 1\n[model]\nhidden_sizes = [1500, 1500]\n"
    config += "components = [0, 0, 1]\n"
    trees = write(tmp_path / "trees", f"{CANDIDATES[0]}\n")
    files = ["--config", write(tmp_path / "c.toml", config), "--train", trees, "--dev", trees]
    flags = ["--out", str(tmp_path / "m.pt"), "--log-folder", str(tmp_path / "log")]
    line = last_line(20 * MB, ["train", *files, *flags, "--threads", "1"])
    assert line.startswith("rerank: out of memory")
    assert line.endswith(
        "; a smaller batch_tokens or batch_size in --config takes less, --shards too"
    )
    assert not (tmp_path / "m.pt").exists()
