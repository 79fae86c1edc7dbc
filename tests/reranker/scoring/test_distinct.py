from __future__ import annotations

from reranker.nbest import Candidate, NBest
from reranker.scoring.distinct import DistinctCandidates
from reranker.scoring.pools import batches
from reranker.trees.linearize import linearize_text


def sentence(words: int, candidates: int = 1) -> DistinctCandidates:
    tree = f"(S {' '.join('(X a)' for _ in range(words))})"
    made = tuple(
        Candidate(index, tree, linearize_text(tree), None, index) for index in range(candidates)
    )
    return DistinctCandidates(NBest("x", made, (), 1))


def test_duplicates_are_found() -> None:
    trees = ["(S (NP (X a)))", "(S (VP (X a)))", "(S (NP (Y a)))"]  # tags make no difference
    made = tuple(Candidate(i, tree, linearize_text(tree), None, i) for i, tree in enumerate(trees))
    found = DistinctCandidates(NBest("x", made, (), 1))
    assert found.sequences == [("(S", "(NP", "a", ")NP", ")S"), ("(S", "(VP", "a", ")VP", ")S")]
    assert list(found.candidates) == [(0, None), (1, None), (0, 0)]
    assert (found.words, found.longest, found.size) == (["a"], 5, 12)


def test_batches_hold_sentences_alike_in_length() -> None:
    # (S, words, )S, <eos>: 3 tokens more than words. 13, 4, 13, 4, 13, 13 tokens: 60 in all.
    sentences = [sentence(words) for words in (10, 1, 10, 1, 10, 10)]
    lengths = [[one.longest for one in batch] for batch in batches(sentences, 30, lanes=1)]
    assert lengths == [[12, 12], [12, 12, 3, 3]]
    lengths = [[one.longest for one in batch] for batch in batches(sentences, 30, lanes=3)]
    assert lengths == [[12, 12], [12], [12, 3, 3]]


def test_every_lane_gets_something_to_do() -> None:
    sentences = [sentence(10) for _ in range(8)]
    assert [len(batch) for batch in batches(sentences, 1_000_000, lanes=4)] == [2, 2, 2, 2]
    assert [len(batch) for batch in batches(sentences[:1], 1_000_000, lanes=4)] == [1]


def test_sentences_without_candidates() -> None:
    empty = DistinctCandidates(NBest("x", (), (), 1))
    assert (empty.size, empty.words, empty.longest) == (0, [], 0)
    assert batches([], 10, lanes=2) == []
    assert batches([empty, empty], 10, lanes=2) == [[empty, empty]]


def test_a_long_list_is_a_batch_of_its_own() -> None:
    long = sentence(100)
    made = batches([sentence(5), long, sentence(5)], 20, lanes=1)
    assert [long] in made and len(made) >= 2
