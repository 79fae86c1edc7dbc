"""A program that prints how often ``score_in_halves`` had to halve, and whether the scores are
right, with little memory: on the CPU with hardly more than the process already has, on the GPU that
is named with half of what it took before."""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import torch

from reranker import Reranker
from reranker.checkpoints.checkpoint import Checkpoint
from reranker.checkpoints.vocabulary import Vocabulary
from reranker.models import AwdLstmDoc, Config
from reranker.nbest.data import RawCandidate, RawList
from reranker.nbest.faithful import ReadingRules, accept
from reranker.nbest.notation import Notation
from reranker.service.children.halving import score_in_halves
from reranker.trees.linearize import linearize
from reranker.trees.tree import Tree

trees = [f"(S (NN a{number}) (NN b))" for number in range(3000)]
device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cpu")
vocabulary = Vocabulary.build([linearize(Tree.from_string(tree)) for tree in trees], 1)
model = AwdLstmDoc(Config(len(vocabulary), 200, (200, 200, 200), components=(0, 0, 0, 15)))
member = Checkpoint("wide", model.requires_grad_(False).eval().to(device), vocabulary)
reranker = Reranker([member], threads=1)
rules = ReadingRules("test", Notation.BRACKETS, False)
lists = [
    accept(RawList(str(number), 1, [RawCandidate(1, tree)]), rules)
    for number, tree in enumerate(trees)
]
torch.set_num_threads(1)
for future in [reranker._lanes.direct(time.sleep, 0.2) for _ in range(2)]:
    future.result()  # threads need memory, too: all are there now
small = [scores for nbest in lists[:20] for _, scores in reranker.score_lists([nbest])]
if device.type == "cuda":
    list(reranker.score_lists(lists))
    most = torch.cuda.max_memory_allocated(device)
    torch.cuda.empty_cache()
    limit = (most + torch.cuda.memory_reserved(device)) // 2
    whole = torch.cuda.get_device_properties(device).total_memory
    torch.cuda.set_per_process_memory_fraction(limit / whole, device)
else:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + 20 * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
scores, halvings = score_in_halves(reranker.ensemble, lists, False)
exact = 0.0 if device.type == "cpu" else 1e-3
pairs = zip(scores, small, strict=False)
print(
    halvings,
    all(some and some[0] and abs(some[0].nll - alone[0].nll) <= exact for some, alone in pairs),
)
