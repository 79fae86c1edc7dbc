"""A treebank that fits on the screen, for tests of training."""

from __future__ import annotations

from reranker.trees.linearize import linearize
from reranker.trees.tree import Tree


def tree(subject: str, verb: str) -> tuple[str, ...]:
    def tagged(words: str) -> str:
        return " ".join(f"(X {word})" for word in words.split())

    return linearize(Tree.from_string(f"(S1 (S (NP {tagged(subject)}) (VP {tagged(verb)}) (. .)))"))


_SUBJECTS = ("It", "The dog", "A child", "The old man")
_VERBS = ("runs", "sees it", "sleeps", "eats the fish", "walks")
TREES = [tree(subject, verb) for subject in _SUBJECTS for verb in _VERBS]  # 20
DEV = [tree("The child", "runs"), tree("It", "eats it")]
