"""NBests from raw lists: every candidate that is a tree of its sentence is accepted, the others are
rejected.

The words of a sentence come from the user, else from the file, else from the list's first candidate
that hides none. Words are put into a candidate by position.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from reranker.errors import InputError, TreeError
from reranker.files.text import MAX_LINE, encoding_fault
from reranker.nbest.data import (
    Candidate,
    NBest,
    RawCandidate,
    RawList,
    Rejected,
    Repair,
    Sentence,
)
from reranker.nbest.growth_limit import GrowthLimit
from reranker.nbest.notation import (
    PLACEHOLDER,
    PUNCTUATION,
    Notation,
    Skeleton,
    is_stand_in,
    read_skeleton,
)
from reranker.nbest.own_notation import own_notation
from reranker.nbest.words import check_words, is_placeholder, printable, wrong_word
from reranker.trees.linearize import is_word, linearize_text
from reranker.trees.tree import UNKNOWN_TAG

_HIDDEN = f"the words are {PLACEHOLDER}: give the sentences (tokens)"


class ReadingRules(NamedTuple):
    """The name of a file or request, the notation of its candidates, and how they are repaired."""

    name: str
    notation: Notation | None = None
    """The notation of all candidates; None finds it for each."""
    repair: Repair | None = None
    """Repair broken candidates; None repairs only candidates of seq2seq parsers."""
    restore: bool = False
    """Rewrite candidates as bracketed trees with the sentence's words and tags."""
    growth_limit: GrowthLimit | None = None
    """The limit that all lists share; None gives each list a limit of its own."""

    def with_growth_limit(self, sentence: Sentence | None) -> ReadingRules:
        """Return these rules with a growth limit that allows for a list of the sentence."""
        growth_limit = self.growth_limit or GrowthLimit()
        if sentence:
            growth_limit.give(sentence.words)
        return self._replace(growth_limit=growth_limit)

    def count_growth(self, text: str, words: Sequence[str]) -> None:
        """Count a candidate, as ``GrowthLimit.take`` does."""
        assert self.growth_limit is not None
        self.growth_limit.take(text, words)

    @property
    def repairs(self) -> bool:
        return self.notation is Notation.LINEARIZED if self.repair is None else bool(self.repair)

    def own_notation(self, raw: RawCandidate) -> Notation | None:
        """Return the notation that a candidate shows, or None. A candidate of a file whose trees
        are all linearised need not show its notation, but can show that it is in brackets."""
        if self.notation is Notation.BRACKETS:
            return self.notation
        found = None if raw.problem or len(raw.text) > MAX_LINE else own_notation(raw.text)
        return found if self.notation is None or found is Notation.BRACKETS else self.notation

    def skeleton(self, text: str, count: int | None = None) -> Skeleton:
        """Return a candidate's skeleton, repaired where necessary, with ``count`` words if given.
        Raises TreeError if the candidate cannot be repaired."""
        if self.repair == "authors" and self.notation is Notation.LINEARIZED:
            from reranker.nbest.authors_repair import read_as_authors

            return read_as_authors(text, count)
        skeleton = read_skeleton(text, self.notation or Notation.BRACKETS)
        if count is not None:
            skeleton.fit(count)
        return skeleton


class _Parsed(NamedTuple):
    """A candidate whose brackets are balanced."""

    place: int
    raw: RawCandidate
    rules: ReadingRules
    """With the candidate's notation."""
    tokens: tuple[str, ...]
    skeleton: Skeleton | None = None
    """The skeleton; None if the text has part-of-speech nodes and needed no repair."""

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(token for token in self.tokens if token[0] not in "()")

    @property
    def is_whole(self) -> bool:
        return self.skeleton is None or self.skeleton.fault is None

    @property
    def has_stand_ins(self) -> bool:
        """Return whether a seq2seq parser wrote ``XX`` or ``_DT_`` in place of words."""
        is_linearized = self.rules.notation is Notation.LINEARIZED
        return is_linearized and any(map(is_stand_in, self.words))


def accept(
    raw: RawList, rules: ReadingRules, sentence: Sentence | None = None, first_index: int = 0
) -> NBest:
    """Separate a list's usable candidates from rejected ones, with indices from ``first_index``.

    Each candidate is read in the notation that it shows. If it shows none, or lacks brackets and
    could be in any, it is read in the notation shown by most of the accepted candidates that show
    one and are not repaired; ties go to the first, and without any such candidate the notation is
    brackets. So no rejected or repaired candidate changes another one.

    Raises InputError if the candidates hide their words, ``rules`` name their notation, and there
    is no ``sentence``.
    """
    sentence = sentence or raw.sentence
    rules = rules.with_growth_limit(sentence)
    rules_by_notation: dict[Notation, ReadingRules] = {}

    def read(place: int, notation: Notation) -> _Parsed | Rejected:
        index, entry = first_index + place, raw.candidates[place]
        if notation not in rules_by_notation:
            rules_by_notation[notation] = rules._replace(notation=notation)
        try:
            return _parse(index, entry, rules_by_notation[notation], sentence)
        except TreeError as error:
            return _rejected(index, entry, error, rules)

    def finish(read: _Parsed | Rejected) -> Candidate | Rejected:
        if isinstance(read, Rejected):
            return read
        try:
            if words is None:
                raise TreeError("hidden-words", _HIDDEN)
            return _candidate(_with_words(read, words, read.rules), sentence, read.rules)
        except TreeError as error:
            return _rejected(read.place, read.raw, error, rules)

    own = [rules.own_notation(entry) for entry in raw.candidates]
    parsed = [read(place, notation or Notation.BRACKETS) for place, notation in enumerate(own)]
    trees = [each for each in parsed if isinstance(each, _Parsed)]
    words = sentence.words if sentence else _words_of_list(trees)
    if words is None and rules.notation:
        raise InputError(f"{rules.name}:{trees[0].raw.line}: {_HIDDEN}")
    results = list(map(finish, parsed))
    are_open = [_is_open(notation, each, rules) for notation, each in zip(own, parsed, strict=True)]
    shown = _most_shown(own, results) if any(are_open) else None
    for place, notation in enumerate(own):
        if are_open[place] and shown not in (None, notation):
            results[place] = finish(read(place, shown))
    candidates = tuple(result for result in results if isinstance(result, Candidate))
    rejected = tuple(result for result in results if isinstance(result, Rejected))
    return NBest(raw.id, candidates, rejected, raw.line, sentence, raw.order)


def _most_shown(
    own: Sequence[Notation | None], results: Sequence[Candidate | Rejected]
) -> Notation | None:
    """Return the notation that most of the accepted, unrepaired candidates show."""
    shown = Counter(
        notation
        for notation, result in zip(own, results, strict=True)
        if notation and isinstance(result, Candidate) and not result.is_repaired
    )
    return shown.most_common(1)[0][0] if shown else None


def _is_open(notation: Notation | None, read: _Parsed | Rejected, rules: ReadingRules) -> bool:
    """Return whether other candidates decide the notation of this one: it shows none, or it is
    broken and lacks only the labels of closing brackets to be linearised."""
    if notation is None:
        return True
    is_broken = isinstance(read, Rejected) or not read.is_whole
    return is_broken and notation is Notation.BARE and rules.notation is None


def _rejected(index: int, raw: RawCandidate, error: TreeError, rules: ReadingRules) -> Rejected:
    text = raw.text if len(raw.text) <= MAX_LINE else raw.text[:200]
    return Rejected(index, raw.line, error.code, str(error), printable(text), rules.name)


def _parse(
    index: int, raw: RawCandidate, rules: ReadingRules, sentence: Sentence | None
) -> _Parsed:
    if raw.problem:
        raise TreeError(*raw.problem)
    if len(raw.text) > MAX_LINE:
        raise TreeError("too-long", f"more than {MAX_LINE} characters")
    if message := encoding_fault(raw.text):
        raise TreeError("encoding", message)
    fault: TreeError | None = None
    if rules.notation is Notation.BRACKETS:
        try:
            tokens = linearize_text(raw.text)
        except TreeError as error:
            if not rules.repairs:
                raise
            fault = error
        else:
            if not any(map(is_word, tokens)):
                raise TreeError("empty", "the tree has no words except traces")
            return _Parsed(index, raw, rules, tokens)
    # The authors' repair needs the number of words at once.
    count = None
    if sentence and rules.repair == "authors":
        rules.count_growth(raw.text, sentence.words)
        count = len(sentence.words)
    skeleton = rules.skeleton(raw.text, count)
    # The fault may be in a part that the skeleton leaves out, such as a trace.
    skeleton.fault = skeleton.fault or fault
    if skeleton.fault and not rules.repairs:
        raise skeleton.fault
    return _Parsed(index, raw, rules, tuple(skeleton.tokens), skeleton)


def _words_of_list(parsed: Sequence[_Parsed]) -> tuple[str, ...] | None:
    """Return the words of the first candidate that hides none and has as many as the first
    candidate, else the words of the first; use candidates that are not whole only if there is no
    other.

    Return None if the first candidate has stand-ins (``XX``) and every candidate hides its words.
    """
    parsed = [each for each in parsed if each.is_whole] or parsed
    if not parsed:
        return ()
    words = parsed[0].words
    if not any(map(is_placeholder, words)) and not parsed[0].has_stand_ins:
        return words
    told = [
        each.words
        for each in parsed
        if not any(map(is_placeholder, each.words)) and not each.has_stand_ins
    ]
    alike = [other for other in told if len(other) == len(words)]
    if not parsed[0].has_stand_ins:
        return alike[0] if alike else words
    return next(iter(alike or told), None)


def _with_words(parsed: _Parsed, words: tuple[str, ...], rules: ReadingRules) -> _Parsed:
    """Replace the candidate's words by the list's words.

    Raises TreeError if the candidate has other words, or has a different number of words and must
    not be repaired.
    """
    own_words = parsed.words
    if own_words == words:
        return parsed
    if rules.repairs or len(own_words) == len(words):
        rules.count_growth(parsed.raw.text, words)
    if rules.repairs and len(own_words) != len(words):
        skeleton = rules.skeleton(parsed.raw.text, len(words))
        parsed = parsed._replace(tokens=tuple(skeleton.tokens), skeleton=skeleton)
        own_words = parsed.words
    if parsed.skeleton and rules.notation is Notation.LINEARIZED and len(own_words) == len(words):
        own_words = _without_stand_ins(own_words, parsed.skeleton, words, rules)
    check_words(own_words, words)
    next_word = iter(words)
    tokens = tuple(next(next_word) if is_word(token) else token for token in parsed.tokens)
    return parsed._replace(tokens=tokens)


def _without_stand_ins(
    own_words: tuple[str, ...], skeleton: Skeleton, words: tuple[str, ...], rules: ReadingRules
) -> tuple[str, ...]:
    """Return the candidate's words, with a placeholder for each that may stand for any word.

    Such words are tokens like ``_DT_`` of seq2seq parsers, and their punctuation, which may stand
    for other punctuation. Punctuation in the place of a word is a fault (``wrong-words``).
    """
    replaced = list(own_words)
    for place, (word, wanted) in enumerate(zip(own_words, words, strict=True)):
        if word in PUNCTUATION and word != wanted:
            if any(map(str.isalnum, wanted)):
                fault = wrong_word(place, word, wanted)
                if not rules.repairs:
                    raise fault
                skeleton.fault = skeleton.fault or fault
                skeleton.tags[place] = ""
            replaced[place] = PLACEHOLDER
        elif is_stand_in(word):
            replaced[place] = PLACEHOLDER
    return tuple(replaced)


def _candidate(parsed: _Parsed, sentence: Sentence | None, rules: ReadingRules) -> Candidate:
    place, raw, _, tokens, skeleton = parsed
    tags: tuple[str, ...] | None = None
    if skeleton and rules.notation is not Notation.BRACKETS:
        own_tags = tuple(tag or UNKNOWN_TAG for tag in skeleton.tags)
        tags = sentence.tags if sentence and sentence.tags else own_tags
    is_repaired = bool(skeleton and skeleton.fault)
    notation = rules.notation or Notation.BRACKETS
    text = skeleton.to_text(notation, raw.text) if skeleton and is_repaired else raw.text
    score, line = raw.parser_score, raw.line
    candidate = Candidate(place, text, tokens, score, line, tags, is_repaired, rules.name)
    if not rules.restore:
        return candidate
    # A bracketed tree, with the sentence's tags if the candidate has no tags.
    tree = candidate.tree
    if sentence and sentence.tags and set(tree.tags()) == {UNKNOWN_TAG}:
        tree = tree.with_tags(sentence.tags)
    return replace(candidate, text=tree.to_string(), tags=None)
