"""The models' card for the Hugging Face hub says what about.toml and ckpt/README.md say."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_the_card_has_the_hub_s_data_and_our_text() -> None:
    from huggingface_hub import ModelCard, ModelCardData  # slow to import for every worker

    command = [sys.executable, str(ROOT / "packages" / "card.py")]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    card = ModelCard(done.stdout)
    assert isinstance(card.data, ModelCardData)
    assert (card.data.license, card.data.library_name) == ("other", "parse-reranker")
    about = tomllib.loads((ROOT / "ckpt" / "about.toml").read_text())
    figures = {each.dataset_name: each.metric_value for each in card.data.eval_results or ()}
    assert figures == {score["set"]: score["reranked"] for score in about["f1"]}
    assert card.text.lstrip().startswith("# Checkpoints\n")
    relative = set(re.findall(r"\]\((?!https?:|#)([^)]*)\)", card.text))
    assert relative and all((ROOT / "ckpt" / name).is_file() for name in relative)
