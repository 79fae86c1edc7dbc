"""``rerank`` a few lists at a time, with a saved state after each batch of a training."""

from __future__ import annotations

import sys
from importlib import import_module

from reranker.commands.main import program
from reranker.scoring import pools

if __name__ == "__main__":
    pools.BATCH_TOKENS = 300
    if "train" in sys.argv:
        vars(import_module("reranker.plugins.training.loop.train"))["STATE_INTERVAL"] = 0.0
    program()
