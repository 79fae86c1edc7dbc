"""Small untrained models for tests of scoring: exactness does not depend on training."""

from __future__ import annotations

from pathlib import Path

import torch

from reranker.checkpoints.checkpoint import Checkpoint, save_checkpoint
from reranker.checkpoints.vocabulary import Vocabulary
from reranker.models import AwdLstmDoc, Config
from reranker.trees.linearize import linearize_tagged
from reranker.trees.tagged import with_tags
from reranker.trees.tree import Tree

# One sentence, six analyses: 3 repeats 0 but for its tags, 4 and 5 differ from 0 in one bracket.
_SUBJECT, _MAN, _WITH = "(NP (PRP We))", "(NP (DT the) (NN man))", "(PP (IN with) (NP (NNS eyes)))"
CANDIDATES = (
    f"(S1 (S {_SUBJECT} (VP (VBD saw) {_MAN} {_WITH}) (. .)))",
    f"(S1 (S {_SUBJECT} (VP (VBD saw) (NP {_MAN} {_WITH})) (. .)))",
    f"(S1 (FRAG {_SUBJECT} (VP (VBD saw) (NP (DT the) (NN man) {_WITH})) (. .)))",
    f"(S1 (S {_SUBJECT} (VP (VBP saw) {_MAN} {_WITH}) (. .)))",
    f"(S1 (S {_SUBJECT} (VP (VBD saw) {_MAN} (IN with) (NP (NNS eyes))) (. .)))",
    f"(S1 (S (PRP We) (VP (VBD saw) {_MAN} {_WITH}) (. .)))",
)
LANGUAGE_MODEL = """[training]
epochs = 1
minimum_count = 1
[model]
embedding_size = 4
hidden_sizes = [4]
components = []
tied = false
"""
"""A configuration for ``rerank train``."""


def untrained(
    seed: int,
    words: tuple[str, ...] = (),
    name: str = "",
    backward: bool = False,
    reads_tags: bool = False,
) -> Checkpoint:
    """Return a DOC model with random weights, large enough that candidates differ by whole nats."""
    torch.manual_seed(seed)
    trees = [linearize_tagged(Tree.from_string(text)) for text in CANDIDATES]
    sequences = [with_tags(*tree) if reads_tags else tree.tokens for tree in trees]
    vocabulary = Vocabulary.build([*sequences, words], 1, backward=backward, reads_tags=reads_tags)
    model = AwdLstmDoc(
        Config(len(vocabulary), 12, (16, 14, 12), components=(0, 1, 1, 2), embedding_range=1.0)
    )
    return Checkpoint(
        name or f"model-{seed}", model.requires_grad_(False).eval(), vocabulary, {}, f"{seed:064d}"
    )


def save(path: Path, member: Checkpoint) -> str:
    """Save a model to the last bit, and return its path."""
    save_checkpoint(path, member.model, member.vocabulary, {}, torch.float32)
    return str(path)
