"""Count what is before and behind the ends of sentences, in texts whose sentences are known, and
write the table by which `rerank parse` splits English text:

    python eval/texts/end_counts.py --treebanks train*.mrg.gz --texts *.txt.gz --out ends.tsv

A text has one sentence a line, its words separated by spaces. To measure a treebank, leave it out
here, and give the table to `sentence_ends.py --table`.
"""

from __future__ import annotations

import math
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sentence_ends import joined, written

from reranker.errors import InputError
from reranker.files.output import never, open_whole
from reranker.files.text import read_lines
from reranker.nbest.words import split_words
from reranker.process.flags import positive, reporting_errors, script_parser
from reranker.text.ends import (
    APART,
    KINDS,
    Left,
    Right,
    item_numbers,
    next_word,
    possible_ends,
)
from reranker.trees.treebank import read_treebank, treebank_files

_WORD = re.compile(r"(?<![^\s\"'(])[^\W\d_]+(?!\w|\.\w)(?:\.(?=\s\S))?")
_WITHOUT_STOP = re.compile(r"[^\W\d_]+(?:\.[^\W\d_]+)*(?=[\s,;:])")
_QUOTED = re.compile(r"(?:[,?!]\"|\",)\s(?=\S)")
_SAID = re.compile(
    r"(?:he|she|they|we|the [a-z]+) (?P<verb>[a-z]{2,20})\b"
    r"|(?P<inverted>[a-z]{2,20}) (?:he|she|they|I|we|the|[A-Z][a-z]+)\b"
)
# Rare abbreviations are like common ones of their kind, which have these counts in addition. Those
# of the first two kinds end no sentence.
_ALIKE = (
    "Dr Drs Mr Mrs Ms Mx Messrs Mme Mmes Mlle Prof Profs Rev Revs Fr Msgr Hon Pres Gov Govs Sen "
    "Sens Rep Reps Gen Lt Lts Col Cols Maj Capt Capts Cmdr Cdr Cpl Sgt Pvt Adm Brig Amb Atty Supt",
    "e.g i.e cf Cf vs viz approx Approx esp incl max Max Min avg Avg",
    "No Nos Fig Figs Eq Eqs Eqn Sec Sect Ch Chap Chaps Vol Vols p pp Ref Refs Rte Hwy Suppl Para "
    "Art App Tab Ex Ser Pt Bk Op no nos fig figs eq eqs sec sect ch chap chaps vol vols ref refs",
    "Jan Feb Febr Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec Mon Tue Tues Wed Weds Thu Thurs Fri Sat",
    "Jr Sr Esq",
    "a.m p.m am pm A.M P.M AM PM",
    "Bros Co Cos Corp Inc Ltd Assn Assoc Dept Univ Inst Intl Natl Govt Mfg Ave Blvd Rd Sq",
    "Ala Ariz Ark Calif Colo Conn Del Fla Ga Ill Ind Kan Ky La Mass Md Mich Minn Miss Mo Mont Neb "
    "Nev Okla Ont Ore Pa Penn Que Tenn Tex Va Vt Wash Wis Wyo",
)
_ENDING_NONE = 2
_AS_IF = 10  # occurrences
_LEAST = 3  # occurrences within sentences
_OPEN_CLASS = frozenset({"initial", "number", "letter"})
_MOST_SCORE, _MOST_VERB = 3, 5
_LOWER = 0.2  # how often a word begins a sentence that is common in lower case, beside others
_LEAST_LOWER = 0.02  # a share of sentences: chat begins them in lower case more often than texts


@dataclass
class EndCounts:
    """Counts of tokens before marks, and of the words behind them, in texts."""

    sentences: int = 0
    lefts: Counter[tuple[Left, str]] = field(default_factory=Counter)
    """By the token before a mark, and "end" or the kind of the next word."""
    starts: Counter[str] = field(default_factory=Counter)
    """Kinds of first words."""
    first: Counter[str] = field(default_factory=Counter)
    capital: Counter[str] = field(default_factory=Counter)
    lower: Counter[str] = field(default_factory=Counter)
    """Words with a capital: first ones, and others; and words in lower case."""
    without_stop: Counter[str] = field(default_factory=Counter)
    """Tokens that no full stop follows."""
    verbs: Counter[str] = field(default_factory=Counter)
    first_verbs: Counter[str] = field(default_factory=Counter)
    """Verbs behind quotations, and behind the first name or pronoun of a sentence."""

    def add(self, sentence: str) -> None:
        """Count what is in a sentence."""
        self.sentences += 1
        begin = next_word(sentence, 0)
        self.starts[begin.kind] += 1
        if begin.kind in ("capital", "capitals"):
            self.first[begin.word] += 1
            self.first_verbs[begin.verb] += 1
        self.without_stop.update(_WITHOUT_STOP.findall(sentence))
        is_heading = sentence[-1] not in ".?!\"')"
        for match in _WORD.finditer(sentence):
            word = match[0]
            if not word[0].isupper():
                self.lower[word.capitalize()] += 1
            elif (
                not is_heading
                and match.start() > 1
                and sentence[match.start() - 2] not in ".?!:\"'("
            ):
                self.capital[word] += 1
        for match in _QUOTED.finditer(sentence):
            said = _SAID.match(sentence, match.end())
            verb = said["verb"] or said["inverted"] if said else None
            self.verbs[verb or next_word(sentence, match.end()).verb] += 1
        items, _ = item_numbers(sentence)
        for end in possible_ends(f"{sentence} x"):
            if end.joined is None and not end.is_blank and end.begin not in items:
                right = next_word(sentence, end.place)
                if end.place > len(sentence):
                    self.lefts[end.left, "end"] += 1
                elif not _is_apart(end.left, right):
                    self.lefts[end.left, right.kind] += 1

    def rows(self, words: int) -> Iterator[tuple[str, ...]]:
        """Yield the rows of the table, with the scores of the most frequent ``words``."""
        known = {word for word, _ in (self.first + self.capital + self.lower).most_common(words)}
        shares = [max(1, self.starts[kind]) / self.sentences for kind in KINDS]
        shares[0] = max(_LEAST_LOWER, shares[0])
        yield "start", "", *(f"{share:.4f}" for share in shares)
        tokens = self._abbreviations()
        yield from (("token", token, *_columns(tokens[token])) for token in sorted(tokens))
        shapes = self._shapes(tokens, known)
        yield from (("shape", shape, *_columns(shapes[shape])) for shape in sorted(shapes))
        unknown = [word for word in self.first + self.capital if word not in known]
        yield "unknown", f"{self._score(unknown):.2f}"
        yield from _grouped("word", {word: self._score([word]) for word in known}, _MOST_SCORE)
        yield from _grouped("verb", self._verb_scores(), _MOST_VERB)

    def _abbreviations(self) -> dict[str, Counter[str]]:
        """Return the counts of each token that a full stop shortens."""
        counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        for (left, kind), number in self.lefts.items():
            if left.token:
                counts[left.token, left.shape.split()[0]][kind] += number
        found: dict[str, Counter[str]] = {}
        for (token, shape), each in counts.items():
            total, without = each.total(), self.without_stop[token]
            within = total - each["end"]
            if token.endswith("!"):
                # Any exclamation may be before lower case or a quote: "Oh! what".
                within = each["capital"] + each["capitals"] + each["digit"] + each["part"]
            is_number = each["digit"] + each["part"] >= 5 and within >= total / 10
            is_one = within >= total / 5 and without < 5 * within
            is_often = within >= 20 and within >= 0.03 * total and without < 3 * within
            if (
                within >= _LEAST
                and shape not in ("initial", "number")
                and (is_number or is_one or is_often)
            ):
                found[token] = each
        for number, alike in enumerate(_ALIKE):
            members = {token: _of_token(counts, token) for token in alike.split()}
            if number < _ENDING_NONE:
                for each in members.values():
                    each.pop("end", None)
            pooled = Counter[str]()
            for each in members.values():
                pooled.update(each)
            share = _AS_IF / max(1, pooled.total())
            for token, each in members.items():
                found[token] = each + Counter({key: round(share * n) for key, n in pooled.items()})
        for token, each in found.items():
            # "No. 5", but "No. He left": a common word is an abbreviation before numbers only.
            if self.without_stop[token] >= 5 * (each.total() - each["end"]):
                for kind in APART:
                    each.pop(kind, None)
        return found

    def _shapes(self, tokens: Iterable[str], known: Iterable[str]) -> dict[str, Counter[str]]:
        """Return the counts of each shape, of tokens that are neither abbreviations nor common."""
        total: Counter[str] = Counter()
        for (left, _), number in self.lefts.items():
            total[left.token] += number
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for (left, kind), number in self.lefts.items():
            token, shape = left
            if token in tokens:
                continue
            if len(token) > 1 and token.capitalize() in known:
                shape = "known"
            elif token and shape.split()[0] not in _OPEN_CLASS and total[token] > 5:
                continue  # the next unknown token is like the rare ones
            counts[shape][kind] += number
        return counts

    def _score(self, words: Sequence[str]) -> float:
        """Return the logarithm of the odds that a word with a capital, one of ``words``, begins a
        sentence. A word that is common in lower case might, too."""
        first = sum(self.first[word] for word in words) / self.first.total()
        lower = sum(self.lower[word] for word in words) / self.lower.total()
        capital = sum(self.capital[word] for word in words) / self.capital.total()
        return math.log((first + _LOWER * lower + 5e-7) / (capital + 5e-7))

    def _verb_scores(self) -> dict[str, float]:
        """Return verbs of saying, with the logarithm of the odds that they follow a quotation."""
        quoted, first = self.verbs.total(), self.first_verbs.total()
        scores = {
            verb: math.log((number / quoted) / ((self.first_verbs[verb] + 1) / first))
            for verb, number in self.verbs.items()
            if verb and number > 1
        }
        return {verb: score for verb, score in scores.items() if score >= 1.5}


def _is_apart(left: Left, right: Right) -> bool:
    """Return whether a mark within a sentence is one only by the spaces of a tokenised text: a
    quote that may close, the two parts of a decimal; or the mark is between a word and the same
    word: *Ha! Ha!*"""
    return (
        (right.kind == "quote" and not right.word)
        or (right.kind == "digit" and left.shape.startswith("number"))
        or left.token == f"{right.word}!"
    )


def _of_token(counts: Mapping[tuple[str, str], Counter[str]], token: str) -> Counter[str]:
    """Return the counts of a token, whatever its shape."""
    return sum((each for (other, _), each in counts.items() if other == token), Counter[str]())


def _columns(counts: Counter[str]) -> list[str]:
    return [str(counts[kind]) for kind in ("end", *KINDS)]


def _grouped(name: str, scores: dict[str, float], most: int) -> Iterator[tuple[str, ...]]:
    """Yield a row for each score, rounded to a half: its name, the score, the words. Lower scores
    are like that of an unknown word."""
    groups: dict[float, list[str]] = defaultdict(list)
    for word, score in scores.items():
        if score > -1:
            groups[min(most, round(2 * score) / 2)].append(word)
    for score in sorted(groups):
        yield name, f"{score:g}", " ".join(sorted(groups[score]))


def _text_sentences(path: str, most: int) -> list[str]:
    lines = [line for line in read_lines(path) if line.strip()]
    random.Random(1).shuffle(lines)
    return [joined(split_words(line)) for line in lines[:most]]


@reporting_errors("end_counts")
def main(argv: Sequence[str]) -> int:
    """Write the table; return 0, or 2 if files cannot be used."""
    parser = script_parser("end_counts.py", __doc__)
    parser.add_argument("--treebanks", nargs="*", default=[], metavar="FILE")
    parser.add_argument("--texts", nargs="*", default=[], metavar="FILE")
    text = "sentences of each text, drawn at random (default: %(default)s)"
    parser.add_argument("--most", type=positive, default=60_000, metavar="N", help=text)
    text = "words whose scores are kept (default: %(default)s)"
    parser.add_argument("--words", type=positive, default=10_000, metavar="N", help=text)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE")
    arguments = parser.parse_args(argv)
    counts = EndCounts()
    for name in treebank_files(arguments.treebanks):
        for tree in read_treebank([name]):
            if sentence := written(tree):
                counts.add(sentence)
    for name in arguments.texts:
        for sentence in _text_sentences(name, arguments.most):
            counts.add(sentence)
    if not counts.lefts:
        raise InputError("no sentence with a mark at its end")
    with open_whole(arguments.out, never) as file:
        file.write("# Made by eval/texts/end_counts.py; its docstring says how.\n")
        for row in counts.rows(arguments.words):
            file.write("\t".join(row) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
