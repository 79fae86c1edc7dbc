"""A component of spaCy pipelines that parses a document's sentences, with benepar's attributes::

    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("parse_reranker")
    for sentence in nlp("She met the man on Monday.").sents:
        print(sentence._.parse_string)

Sentences and tokens are spaCy's. Leaves of trees are the tokens as treebanks spell them, such as
``-LRB-``; tokens of white space are in no tree.

On spans, and on tokens, as spans of one: ``labels`` (of all constituents that cover exactly this
span, outermost first; without parts of speech), ``probabilities`` (of these labels; None of a
parser that gives none), ``probability`` (the first), ``parse_string``, ``parent``; on spans only:
``constituents`` (this one and those within, parents first), ``children``, ``tree`` (``nltk.Tree``);
tokens get ``tag_`` and ``pos_`` unless they have them;
of the sentence that a span is in: ``parse_score`` (of its tree, in nats) and ``parse_problem`` (why
its tree is flat, or None).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import NamedTuple, TypeVar

from spacy.language import Language
from spacy.tokens import Doc, Span, Token

from reranker.checkpoints.installed import is_installed, models_of
from reranker.errors import InputError
from reranker.outputs.upos import universal_tags
from reranker.parsers.choice import OPTIONS, ParserChoice
from reranker.parsers.parser import Parser, ParserSettings
from reranker.parsers.registry import create_parser
from reranker.pipeline import Reranker
from reranker.plugins.pipelines.tokens import LONGEST, rank_sentences
from reranker.process.machine import available_cores
from reranker.ranking import Ranking
from reranker.trees.constituents import brackets
from reranker.trees.tree import ROOT_LABELS, UNKNOWN_TAG, Tree

T = TypeVar("T")

_ATTRIBUTE = "parse_reranker"
"""A document's parses as plain data, so that they are kept when it is written to a file."""

_Bracket = tuple[int, int, str, float | None]
"""A bracket's first word, the word after its last, its label and its probability."""

_Parse = tuple[int, int, str, float | None, str | None, list[_Bracket]]
"""A sentence's first token, the token after its last, its tree, score, problem and brackets."""


class NonConstituentError(InputError):
    """A span is not a constituent, or its sentence has not been parsed."""


@Language.factory(
    "parse_reranker",
    default_config={
        "models": None,
        **{name: None for name in OPTIONS},
        "lm_weight": None,
        "longest": LONGEST,
        "jobs": None,
        "threads": None,
        "device": "auto",
    },
    requires=["doc.sents"],
    assigns=[f"doc._.{_ATTRIBUTE}"],
)
def create_component(
    nlp: Language,
    name: str,
    models: str | list[str] | None,
    parser: str | list[str] | None,
    parser_command: str | None,
    parser_model: str | list[str] | None,
    language: str | None,
    candidates: int | None,
    overparsing: int | None,
    parser_seconds: float | None,
    lm_weight: float | None,
    longest: int,
    jobs: int | None,
    threads: int | None,
    device: str,
) -> ParseReranker:
    """Create the component that the config describes, with the names of `rerank parse`'s flags; the
    language is by default that of ``nlp``, if there are models of it. Raises InputError."""
    is_named = language or parser or parser_model or models
    if not is_named and nlp.lang and is_installed(nlp.lang):
        language = nlp.lang
    options = {
        "parser": parser,
        "parser_command": parser_command,
        "parser_model": parser_model,
        "language": language,
        "candidates": candidates,
        "overparsing": overparsing,
        "parser_seconds": parser_seconds,
        "models": models,
    }
    choice = ParserChoice.from_options(options, device=device)
    models = models or models_of(language) or (choice.own_models if lm_weight is None else None)
    return ParseReranker(
        Reranker.load(models, device=device, threads=threads),
        choice.create(),
        lm_weight=lm_weight,
        longest=longest,
        jobs=jobs or available_cores(),
    )


@dataclass(slots=True)
class _Unfinished:
    """A document with sentences that are still being parsed."""

    doc: Doc
    sentences: list[tuple[int, int]]
    parses: list[_Parse] = field(default_factory=list)

    def add(self, ranking: Ranking) -> None:
        """Take the ranking of the next sentence."""
        start, end = self.sentences[len(self.parses)]
        parsed = ranking.parsed_sentence()
        problem = None if ranking.best else ranking.rejected[0].message
        tree = parsed.tree.to_string() if parsed.tree else ""
        known = [
            (each.start, each.end, each.label, each.probability) for each in parsed.constituents
        ]
        self.parses.append((start, end, tree, parsed.score, problem, known))

    @property
    def is_complete(self) -> bool:
        return len(self.parses) == len(self.sentences)


class ParseReranker:
    """The component itself, made of an existing reranker and parser."""

    def __init__(
        self,
        reranker: Reranker,
        parser: Parser | str,
        *,
        lm_weight: float | None = None,
        longest: int = LONGEST,
        jobs: int = 1,
    ) -> None:
        # Not one that others share: ``close`` ends it.
        if isinstance(parser, str):
            parser = create_parser(parser, ParserSettings())
        self._parser = parser
        self._rankings = partial(
            rank_sentences, reranker, parser, lm_weight=lm_weight, top=1, longest=longest, jobs=jobs
        )

    def __call__(self, doc: Doc) -> Doc:
        """Parse the sentences of a document. Raises ValueError if spaCy does not know them."""
        return next(self.pipe([doc]))

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Yield the documents, in order, while sentences of the next ones are parsed. The parser,
        not ``batch_size``, decides how many are parsed at once."""
        unfinished: deque[_Unfinished] = deque()
        for ranking in self._rankings(_sentences(stream, unfinished)):
            yield from _completed(unfinished)
            unfinished[0].add(ranking)
        yield from _completed(unfinished)

    def close(self) -> None:
        """Stop the parser."""
        self._parser.stop()


def _sentences(stream: Iterable[Doc], unfinished: deque[_Unfinished]) -> Iterator[list[str]]:
    """Yield the words of every sentence that has words; each document is first added to
    ``unfinished``."""
    for doc in stream:
        words = {
            (sentence.start, sentence.end): [token.text for token in sentence if not token.is_space]
            for sentence in doc.sents
        }
        sentences = [place for place, tokens in words.items() if tokens]
        unfinished.append(_Unfinished(doc, sentences))
        for place in sentences:
            yield words[place]


def _completed(unfinished: deque[_Unfinished]) -> Iterator[Doc]:
    while unfinished and unfinished[0].is_complete:
        done = unfinished.popleft()
        done.doc._.set(_ATTRIBUTE, done.parses)
        _set_tags(done.doc, done.parses)
        yield done.doc


def _set_tags(doc: Doc, parses: Iterable[_Parse]) -> None:
    """Set ``tag_`` and ``pos_`` of tokens that no earlier component has tagged."""
    for start, end, tree, *_ in parses:
        tokens = [token for token in doc[start:end] if not token.is_space]
        parsed = Tree.from_string(tree) if tree else None
        if parsed is None or len(parsed.tags()) != len(tokens):  # a leaf without a tag
            continue
        for token, tag, universal in zip(
            tokens, parsed.tags(), universal_tags(parsed), strict=True
        ):
            if not token.tag and tag != UNKNOWN_TAG:
                token.tag_ = tag
                if not token.pos and universal:
                    token.pos_ = universal


class _Node(NamedTuple):
    """A half-open range of a sentence's words that is a constituent or a word."""

    start: int
    end: int
    labels: tuple[str, ...]
    tree: Tree
    """The outermost constituent of these words, or the word with its part of speech."""


class _Constituent(NamedTuple):
    """A node in its document."""

    doc: Doc
    tokens: list[int]
    """The token of each word of the sentence."""
    nodes: tuple[_Node, ...]
    """The sentence's nodes, parents first."""
    place: int
    """This constituent's place among the nodes."""

    @property
    def node(self) -> _Node:
        return self.nodes[self.place]

    def span(self, node: _Node) -> Span:
        return self.doc[self.tokens[node.start] : self.tokens[node.end - 1] + 1]

    def inner(self) -> Iterator[_Node]:
        """Yield this node and those inside it."""
        for node in self.nodes[self.place :]:
            if node.start >= self.node.end:
                return
            yield node


@lru_cache(maxsize=1024)
def _nodes(text: str) -> tuple[_Node, ...]:
    """Return the nodes of a tree, one for each span."""
    tree = Tree.from_string(text)
    if tree.label in ROOT_LABELS and len(tree.children) == 1 and isinstance(tree.children[0], Tree):
        tree = tree.children[0]
    words: list[Tree] = []
    stack: list[Tree | str] = [tree]
    while stack:
        child = stack.pop()
        if isinstance(child, str):
            words.append(Tree("", (child,)))
        elif child.is_preterminal:
            words.append(child)
        else:
            stack.extend(reversed(child.children))
    nodes = {
        (place, place + 1): _Node(place, place + 1, (), each) for place, each in enumerate(words)
    }
    for inner, start, end in reversed(brackets(tree)):
        assert isinstance(inner, Tree)  # as every node of a Tree
        below = nodes.get((start, end))
        nodes[start, end] = _Node(
            start, end, (inner.label, *(below.labels if below else ())), inner
        )
    return tuple(sorted(nodes.values(), key=lambda node: (node.start, -node.end)))


def _parse_of(span: Span) -> _Parse:
    """Return the parse of the sentence that contains the span."""
    parses: list[_Parse] | None = span.doc._.get(_ATTRIBUTE)
    if parses is None:
        raise NonConstituentError("the document has not been parsed: add_pipe('parse_reranker')")
    for parse in parses:
        if parse[0] <= span.start and span.end <= parse[1]:
            return parse
    raise NonConstituentError(f"not within a sentence that has words: {span.text!r:.60}")


def _constituent(span: Span) -> _Constituent:
    start, end, tree, *_ = _parse_of(span)
    tokens = [token.i for token in span.doc[start:end] if not token.is_space]
    nodes = _nodes(tree)
    if nodes[0].end != len(tokens):
        raise NonConstituentError("the document was split into other tokens after it was parsed")
    words = [place for place, token in enumerate(tokens) if span.start <= token < span.end]
    wanted = (words[0], words[-1] + 1) if words else None
    for place, node in enumerate(nodes):
        if (node.start, node.end) == wanted:
            return _Constituent(span.doc, tokens, nodes, place)
    raise NonConstituentError(f"not a constituent: {span.text!r:.60}")


def _constituents(span: Span) -> Iterator[Span]:
    constituent = _constituent(span)
    return map(constituent.span, constituent.inner())


def _children(span: Span) -> Iterator[Span]:
    constituent = _constituent(span)
    start = constituent.node.start
    for node in list(constituent.inner())[1:]:
        if node.start == start:
            yield constituent.span(node)
            start = node.end


def _parent(span: Span) -> Span | None:
    constituent = _constituent(span)
    for node in reversed(constituent.nodes[: constituent.place]):
        if node.end >= constituent.node.end:
            return constituent.span(node)
    return None


def _probabilities(span: Span) -> tuple[float | None, ...]:
    """Return the probability of each of the span's labels."""
    node = _constituent(span).node
    *_, written = _parse_of(span)
    known = {(start, end, label): value for start, end, label, value in written}
    return tuple(known.get((node.start, node.end, label)) for label in node.labels)


def _of_token(getter: Callable[[Span], T]) -> Callable[[Token], T]:
    """Return a token's getter: the getter of the span of this token alone."""
    return lambda token: getter(token.doc[token.i : token.i + 1])


def _register() -> None:
    """Register the attributes, replacing benepar's if it was imported before."""
    Doc.set_extension(_ATTRIBUTE, default=None, force=True)
    of_both: dict[str, Callable[[Span], object]] = {
        "labels": lambda span: _constituent(span).node.labels,
        "probabilities": _probabilities,
        "probability": lambda span: next(iter(_probabilities(span)), None),
        "parse_string": lambda span: _constituent(span).node.tree.to_string(),
        "parent": _parent,
    }
    for name, getter in of_both.items():
        Span.set_extension(name, getter=getter, force=True)
        Token.set_extension(name, getter=_of_token(getter), force=True)
    of_spans: dict[str, Callable[[Span], object]] = {
        "constituents": _constituents,
        "children": _children,
        "tree": lambda span: _constituent(span).node.tree.to_nltk(),
        "parse_score": lambda span: _parse_of(span)[3],
        "parse_problem": lambda span: _parse_of(span)[4],
    }
    for name, getter in of_spans.items():
        Span.set_extension(name, getter=getter, force=True)


_register()
