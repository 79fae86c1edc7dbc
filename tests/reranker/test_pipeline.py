from __future__ import annotations

import gc
import itertools
import random
import subprocess
import sys
import weakref
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import nltk
import numpy as np
import pytest

import reranker
from reranker.checkpoints.checkpoint import Checkpoint
from reranker.errors import InputError, RerankError
from reranker.nbest import Candidate, NBest, from_candidates, read_nbest
from reranker.nbest.data import Sentence
from reranker.parsers.choice import kept_parser
from reranker.pipeline import Reranker
from reranker.ranking import Ranking, Weighing
from reranker.ranking.rankings import Rankings
from reranker.scoring import pools
from reranker.trees.linearize import linearize, linearize_text
from reranker.trees.tree import Tree
from tests.reranker.ensembles import CANDIDATES, untrained
from tests.reranker.scoring.one_by_one import score_one_by_one
from tests.reranker.small_files import bllip

RERANKER = Reranker([untrained(1), untrained(2), untrained(3, words=("extra", "words"))])


def lists(count: int) -> list[NBest]:
    """Return lists that differ: rotations of the candidates, cut to different lengths."""
    made = []
    for number in range(count):
        texts = [*CANDIDATES[number % 6 :], *CANDIDATES[: number % 6]][: 2 + number % 5]
        candidates = tuple(
            Candidate(index, text, linearize_text(text), -30.0 - index, index)
            for index, text in enumerate(texts)
        )
        made.append(NBest(str(number), candidates, (), 1))
    return made


def scores(ranking: Ranking) -> dict[str, float]:
    return {one.tree: one.score for one in ranking.ranking}


def test_sum_of_members_equals_the_straightforward_sum() -> None:
    expected = np.zeros(len(CANDIDATES))
    for member in RERANKER.members:
        assert isinstance(member, Checkpoint)
        ids = [member.vocabulary.encode(linearize(Tree.from_string(t))) for t in CANDIDATES]
        expected -= score_one_by_one(member.model, ids, member.vocabulary.eos)
    ranking = RERANKER.rerank(CANDIDATES)
    assert [one.index for one in ranking.ranking] == sorted(
        range(6), key=lambda index: (round(float(expected[index]), 4), index)
    )
    for one in ranking.ranking:
        assert one.nll == pytest.approx(expected[one.index], abs=1e-4)
        assert one.score == -one.nll


def test_average_of_probabilities_token_by_token() -> None:
    members = [untrained(1), untrained(2)]
    tokens = linearize(Tree.from_string(CANDIDATES[0]))
    ids = members[0].vocabulary.encode(tokens)
    # Differences of prefix totals are the token log-probabilities.
    prefixes = [ids[: length + 1] for length in range(len(ids))]
    per_token = [
        np.diff(score_one_by_one(member.model, prefixes, member.vocabulary.eos), prepend=0)
        for member in members
    ]
    expected = -np.log(np.exp(per_token).mean(0)).sum()
    ranking = Reranker(members, "average").rerank(CANDIDATES[:1])
    assert ranking.ranking[0].nll == pytest.approx(expected, abs=1e-3)


def test_average_needs_one_vocabulary() -> None:
    with pytest.raises(RerankError, match="different vocabularies"):
        Reranker(RERANKER.members, "average")
    with pytest.raises(RerankError, match="at least one"):
        Reranker([])


@pytest.mark.parametrize("budget", [1, 150])
def test_rankings_do_not_depend_on_what_is_scored_together(
    budget: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = [RERANKER.rerank([c.tree for c in nbest.candidates]) for nbest in lists(7)]
    monkeypatch.setattr(pools, "BATCH_TOKENS", budget)
    together = list(RERANKER.rerank_lists(lists(7)))
    assert [ranking.id for ranking in together] == [str(number) for number in range(7)]
    for one, other in zip(alone, together, strict=True):
        assert [r.index for r in one.ranking] == [r.index for r in other.ranking]
        assert scores(one) == pytest.approx(scores(other), abs=1e-4)


def test_scores_do_not_depend_on_the_candidates_order() -> None:
    expected = scores(RERANKER.rerank(CANDIDATES))
    shuffled = random.Random(1).sample(CANDIDATES, len(CANDIDATES))
    assert scores(RERANKER.rerank(shuffled)) == pytest.approx(expected, abs=1e-4)


def test_candidates_that_differ_in_tags_only_are_duplicates() -> None:
    ranked = {one.index: one for one in RERANKER.rerank(CANDIDATES).ranking}
    assert [ranked[index].duplicate_of for index in range(6)] == [None, None, None, 0, None, None]
    assert ranked[3].score == ranked[0].score


def test_strings_trees_and_nltk_trees_are_the_same_candidates() -> None:
    trees = [Tree.from_string(text) for text in CANDIDATES]
    nltk_trees = [nltk.Tree.fromstring(text) for text in CANDIDATES]
    expected = RERANKER.rerank(CANDIDATES)
    assert RERANKER.rerank(trees).ranking == expected.ranking
    assert RERANKER.rerank(nltk_trees).ranking == expected.ranking


def test_a_broken_candidate_does_not_cost_the_others() -> None:
    trees = ["(S (NP", CANDIDATES[0], "(S (A other) (B words))", CANDIDATES[1]]
    with pytest.warns(UserWarning, match="1 candidate rejected.* rerank_lists takes a list"):
        ranking = RERANKER.rerank(trees)
    assert {one.index for one in ranking.ranking} == {1, 3}
    assert [(one.index, one.code) for one in ranking.rejected] == [
        (0, "unbalanced"),
        (2, "wrong-length"),
    ]


def test_no_candidates() -> None:
    with pytest.raises(InputError, match="no candidates"):
        RERANKER.rerank([])
    with pytest.raises(InputError, match=r"none of the candidates is a tree; .* list: foo"):
        RERANKER.rerank(["foo", "bar"])
    with pytest.raises(InputError, match="no models: the list is empty"):
        Reranker.load([])
    # In a stream a sentence without a tree costs no other one its answer.
    streamed = list(RERANKER.rerank_lists([[], ["foo"], CANDIDATES]))
    assert [ranking.status for ranking in streamed] == ["failed", "failed", "ok"]
    assert RERANKER.rerank(["(S (NP"]).status == "failed"  # a broken tree, not a mistake
    assert list(RERANKER.rerank_lists([])) == []


@pytest.mark.parametrize("wrong", [None, 3])
def test_what_is_no_list_of_lists(wrong: Any) -> None:
    for ask in (RERANKER.rerank_lists, RERANKER.ranked_lists, RERANKER.score_lists):
        with pytest.raises(InputError, match=f"expected a list of lists .* got {wrong}"):
            ask(wrong)


def test_a_log_probability_is_not_positive() -> None:
    for good in (0.0, -0.0, 1e-9, float("nan"), None):  # sums of floats may be a little above 0
        RERANKER.rerank(CANDIDATES[:2], [-1.0, good])  # type: ignore[list-item]
    with pytest.raises(InputError, match=r"parser_scores\[1\] .*3\.5"):
        RERANKER.rerank(CANDIDATES[:2], [-1.0, 3.5])
    # A file's scores may be of another kind, such as a discriminative reranker's.
    assert from_candidates(CANDIDATES[:1], [3.5]).candidates[0].parser_score == 3.5


@pytest.mark.plugins
def test_a_parser_by_its_name() -> None:
    with pytest.raises(InputError, match=r"'none'.* beam, benepar, bllip"):
        RERANKER.parse("It runs.", "none")
    with pytest.raises(InputError, match=r"parser .*None"):
        RERANKER.parse("It runs.", None)  # type: ignore[arg-type]
    pytest.importorskip("bllipparser", reason="bllipparser is not installed")
    (named,) = RERANKER.parse("It runs.", "bllip")
    assert len(named) > 1
    assert [named] == list(RERANKER.parse("It runs.", kept_parser("bllip")))


def test_lists_of_sentences() -> None:
    flat = FlatParser()
    rankings = list(RERANKER.parse(["It runs? It", "We saw"], flat, jobs=2))
    assert [each.tree for each in rankings] == [
        "(S (XX It) (XX runs) (XX ?) (XX It))", "(S (XX We) (XX saw))",
    ]  # fmt: skip
    (words,) = RERANKER.parse([["It", "runs."]], flat)
    assert words.tree == "(S (XX It) (XX runs.))"
    with pytest.raises(InputError, match="candidates: "):
        RERANKER.parse("It runs.", flat, candidates=3)


def test_one_kind_of_result() -> None:
    """``parse`` of the package and of a class give rankings at once, ``stream`` one by one."""
    flat, text = FlatParser(), ["It runs", "We saw"]
    rankings = RERANKER.parse(text, flat)
    assert isinstance(rankings, Rankings) and len(rankings) == 2
    streamed = RERANKER.stream(text, flat)
    assert next(streamed) == rankings[0] and [*streamed] == rankings[1:]
    with pytest.warns(UserWarning, match="3 strings are 3 sentences"):
        assert len(RERANKER.parse(["It", "runs", "."], flat)) == 3


def test_a_closed_reranker_has_let_go_of_its_models() -> None:
    with Reranker([untrained(1)]) as own:
        model = weakref.ref(own.members[0].model)
        assert own.rerank(CANDIDATES).best
    gc.collect()
    assert own.members == () and model() is None
    for ask in (lambda: own.rerank(CANDIDATES), lambda: own.score(CANDIDATES)):
        with pytest.raises(InputError, match="this Reranker is closed: load it again"):
            ask()
    own.close()


@pytest.mark.parametrize("ranked", [0, 1])
def test_rankings_of_a_closed_reranker_say_that_it_is_closed(ranked: int) -> None:
    """Lists that are ranked one by one outlive the ``with`` statement that they were asked in."""
    with Reranker([untrained(1)], threads=1) as own:
        rankings = own.rerank_lists(itertools.repeat(CANDIDATES))
        assert all(each.best for each in itertools.islice(rankings, ranked))
    with pytest.raises(InputError, match="this Reranker is closed: load it again"):
        list(rankings)


def test_scores_of_lists_that_are_no_nbest() -> None:
    ((nbest, scored),) = RERANKER.score_lists([CANDIDATES])
    assert nbest == from_candidates(CANDIDATES)
    ((_, expected),) = RERANKER.score_lists([nbest])
    assert scored == expected


@pytest.mark.plugins
def test_completion_knows_what_there_is() -> None:
    program = "import sys, reranker; print(*dir(reranker)); sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, "torch is imported"
    functions = ["check", "clauses", "measure", "surprisal"]  # of plug-ins
    assert done.stdout.split() == sorted([*reranker.__all__, *functions])
    assert all(getattr(reranker, name) for name in dir(reranker))


def test_parser_scores_mix_in() -> None:
    favourite = 2
    parser = [-1000.0] * 6
    parser[favourite] = 0.0
    ranking = RERANKER.rerank(CANDIDATES, parser, Weighing(lm_weight=0.1))
    assert ranking.best is not None and ranking.best.index == favourite
    with pytest.raises(RerankError, match="2 parser scores for 6"):
        RERANKER.rerank(CANDIDATES, [-1.0, -2.0])


def test_unknown_words_are_counted() -> None:
    ranking = RERANKER.rerank(["(S (NP (PRP We)) (VP (VBD Zapped) (NP (NNS xylophones))))"])
    assert ranking.ranking[0].unknown_words == 2


def test_lm_weight_alone_replaces_the_weight() -> None:
    parser = [-40.0, -39.0, -41.0, -40.0, -38.0, -45.0]
    tuned = Weighing(1.0, "token-perplexity")
    asked = RERANKER.rerank(CANDIDATES, parser, tuned, lm_weight=0.4)
    assert asked == RERANKER.rerank(CANDIDATES, parser, Weighing(0.4, "token-perplexity"))
    with pytest.raises(RerankError, match=r"lm_weight .*1\.4"):
        RERANKER.rerank(CANDIDATES, parser, lm_weight=1.4)


def test_a_list_that_was_read_is_ranked_as_it_is() -> None:
    (nbest,) = lists(1)
    assert RERANKER.rerank(nbest) == next(RERANKER.rerank_lists([nbest]))


def test_scores_of_trees_need_no_common_words() -> None:
    trees = [CANDIDATES[0], "((", Tree.from_string("(NP (DT the) (NN man))"), CANDIDATES[1]]
    first, nothing, other, second = RERANKER.score(trees)
    assert nothing is None and other is not None
    ranked = {entry.index: -entry.nll for entry in RERANKER.rerank(CANDIDATES[:2])}
    assert (first, second) == (ranked[0], ranked[1])


def test_a_file_is_ranked_list_by_list(tmp_path: Path) -> None:
    path = tmp_path / "lists.txt"
    path.write_text(bllip(CANDIDATES, CANDIDATES[:3]), encoding="utf-8")
    rankings = list(RERANKER.rerank_file(path))
    assert [len(ranking) for ranking in rankings] == [6, 3]
    assert rankings == list(RERANKER.rerank_lists(read_nbest(path)))
    (best, _) = RERANKER.rerank_file(str(path), lm_weight=0.5, top=1)
    assert len(best) == 1
    assert best[0] == next(RERANKER.rerank_file(path, lm_weight=0.5))[0]


def test_the_version_is_that_of_the_installation() -> None:
    assert reranker.__version__ == version("parse-reranker")


def test_arguments_that_make_no_sense_say_what_is_wanted(tmp_path: Path) -> None:
    """A mistake in a call is an error of ours with a message, never another score."""
    path = tmp_path / "lists.txt"
    path.write_text(bllip(CANDIDATES), encoding="utf-8")
    members = RERANKER.members
    wrong: list[tuple[Callable[[Any], object], Any, str]] = [
        (lambda value: Reranker(members, value), "mean", "combination must be 'sum' or 'average'"),
        (lambda value: Reranker(members, value), "cuda", "combination must be 'sum' or 'average'"),
        (
            lambda value: Reranker(value),
            ["ck.pt"],
            "expected a Checkpoint as a member, got 'ck.pt'",
        ),
        (lambda value: Reranker(members, threads=value), 0, "threads must be a positive integer"),
        (lambda value: Reranker(members, threads=value), "2", "threads must be a positive integer"),
        (
            lambda value: Reranker(members, weighing=value),
            0.4,
            "weighing must be a Weighing, got 0.4",
        ),
        (lambda value: RERANKER.rerank(CANDIDATES, weighing=value), 0.4, "lm_weight="),
        (
            lambda value: RERANKER.rerank(CANDIDATES, lm_weight=value),
            "0.4",
            "'0.4' is not a number",
        ),
        (lambda value: RERANKER.rerank(CANDIDATES, lm_weight=value), True, "True is not a number"),
        (lambda value: RERANKER.rerank(CANDIDATES, lm_weight=value), 0.4, "needs parser_scores"),
        (
            lambda value: RERANKER.rerank_file(path, top=value),
            0,
            "top must be a positive integer, got 0",
        ),
        (
            lambda value: RERANKER.parse("It runs.", FlatParser(), jobs=value),
            0,
            "jobs must be a positive integer, got 0",
        ),
        (lambda value: RERANKER.rerank_file(path, lm_weight=value), 3, "is not between 0 and 1"),
        (RERANKER.rerank, [str(path)], "lists.txt is a file, not a tree; use rerank_file"),
        (
            lambda value: RERANKER.rerank_file(value),
            None,
            "expected the name of a file as a string or a path",
        ),
        (
            lambda value: RERANKER.rerank_file(value),
            [path],
            "expected the name of a file as a string or a path",
        ),
        (
            lambda value: Reranker.load(value),
            b"ck.pt",
            "expected the path of a model, got b'ck.pt'",
        ),
        (lambda value: Reranker.load(value), "ck/*.pt", "ck/*.pt: no file matches"),
        (lambda value: Weighing(member_weights=value), 1, "member_weights 1 is not a tuple"),
    ]
    for call, value, message in wrong:
        with pytest.raises(RerankError) as caught:
            call(value)
        assert message in str(caught.value)
        assert "--" not in str(caught.value)


def test_lists_of_candidates_are_ranked_as_lists_that_were_read() -> None:
    assert list(RERANKER.rerank_lists([CANDIDATES])) == [RERANKER.rerank(CANDIDATES)]


class FlatParser:
    """A parser that proposes one flat tree for each sentence."""

    batch_sizes = (1,)

    def parse(self, sentences: Sequence[Sentence]) -> list[NBest | str]:
        return [
            from_candidates([f"(S {' '.join(f'(XX {word})' for word in each.words)})"])
            for each in sentences
        ]

    def stop(self) -> None:
        pass


def test_half_a_surrogate_pair_and_bytes_that_are_not_utf8_are_one_character_each() -> None:
    text = "\ud83d \udcc3\udca9 It\udcff runs"
    (ranking,) = RERANKER.parse(text, FlatParser(), "tokens")
    assert ranking.tree == "(S (XX \ufffd) (XX \ufffd\ufffd) (XX It\ufffd) (XX runs))"
    assert ranking.origin is not None
    assert ranking.origin.offsets == ((0, 1), (2, 4), (5, 8), (9, 13))
