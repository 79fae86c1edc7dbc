"""``doc._.clauses``, from the trees that spaCy's component ``parse_reranker`` stores."""

from __future__ import annotations

from spacy.language import Language
from spacy.tokens import Doc, Span

from reranker.errors import TreeError
from reranker.plugins.clauses.clause import Clause, Range, clauses, placed
from reranker.trees.tree import Tree


@Language.component("clauses", requires=["doc._.parse_reranker"], assigns=["doc._.clauses"])
def clauses_component(doc: Doc) -> Doc:
    """Return the document; importing this module has registered the attribute."""
    return doc


def clauses_of(doc: Doc) -> list[Clause[Span]]:
    """Return the clauses of all sentences but those with flat trees; ``parent`` is a place in this
    list. Probabilities are of brackets in the tree, so a clause is at least as probable."""
    found: list[Clause[Span]] = []
    for start, end, tree, _, _, brackets in doc._.get("parse_reranker") or ():
        tokens = [token.i for token in doc[start:end] if not token.is_space]

        def span(words: Range, tokens: list[int] = tokens) -> Span:
            return doc[tokens[words[0]] : tokens[words[1] - 1] + 1]

        known = {tuple(key): value for *key, value in brackets if value is not None}
        try:
            inside = clauses(Tree.from_string(tree))
        except TreeError:
            continue
        before = len(found)
        for each in inside:
            parent = None if each.parent is None else before + each.parent
            found.append(placed(each, span, known or None)._replace(parent=parent))
    return found


Doc.set_extension("clauses", getter=clauses_of, force=True)
