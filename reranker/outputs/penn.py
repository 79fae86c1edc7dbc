"""Trees over several lines, as treebanks print them."""

from __future__ import annotations

from reranker.outputs.output import Output
from reranker.ranking import Ranking
from reranker.trees.tree import Tree

WIDTH = 80


class Pretty(Output):
    """The best tree over several lines."""

    has_probabilities = False
    suffix = ".mrg"

    def line(self, ranking: Ranking, number: int) -> str:
        tree = ranking.parsed_sentence().tree
        return pretty(tree) if tree else ranking.fallback


def pretty(tree: Tree, width: int = WIDTH) -> str:
    """Return the tree as ``nltk.Tree.pformat`` prints it, of any depth: a constituent that does not
    fit within ``width`` columns has each of its children on its own line.

    >>> print(pretty(Tree.from_string("(S (NP (DT The) (NN man)) (VP (VBD left)))"), 30))
    (S
      (NP (DT The) (NN man))
      (VP (VBD left)))
    """
    lengths = _lengths(tree)
    lines: list[str] = []
    stack: list[tuple[Tree | str, int]] = [(tree, 0)]
    while stack:
        node, indent = stack.pop()
        if isinstance(node, str):
            if node == ")":  # closes the constituent on the lines before
                lines[-1] += " )" if lines[-1].endswith("\\") else ")"
            else:
                lines.append(" " * indent + node)
        elif indent + lengths[id(node)] < width:
            lines.append(" " * indent + node.to_string())
        else:
            lines.append(f"{' ' * indent}({node.label}")
            stack.append((")", 0))
            stack.extend((child, indent + 2) for child in reversed(node.children))
    return "\n".join(lines)


def _lengths(tree: Tree) -> dict[int, int]:
    """Return the number of characters on a line of each constituent, by ``id(node)``."""
    lengths: dict[int, int] = {}
    for node in reversed(list(tree.preorder())):
        lengths[id(node)] = (
            len(node.label)
            + 2
            + sum(
                1 + (len(child) if isinstance(child, str) else lengths[id(child)])
                for child in node.children
            )
        )
    return lengths
