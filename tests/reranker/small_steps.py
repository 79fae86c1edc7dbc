"""``rerank`` a few lists at a time, with a saved state after each batch of a training."""

from __future__ import annotations

import sys
from importlib import import_module

from reranker.commands.main import program

if __name__ == "__main__":
    # A search in trees starts without torch, which scoring imports.
    if "--models" in sys.argv:
        vars(import_module("reranker.scoring.pools"))["BATCH_TOKENS"] = 300
    elif "train" in sys.argv:
        vars(import_module("reranker.plugins.training.loop.train"))["STATE_INTERVAL"] = 0.0
    program()
