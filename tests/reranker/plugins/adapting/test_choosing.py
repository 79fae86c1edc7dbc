"""The choice of certain silver trees, and of those kept back."""

from __future__ import annotations

from reranker.nbest import from_candidates
from reranker.pipeline import Reranker
from reranker.plugins.adapting.stages import HELD_OUT, Choice, choices, silver
from reranker.plugins.adapting.training import mixed
from reranker.trees.linearize import TaggedTree
from tests.reranker.ensembles import CANDIDATES, untrained


def test_members_agree_if_each_alone_would_choose_it() -> None:
    lists = [from_candidates(CANDIDATES[start:]) for start in range(5)]
    members = [untrained(1), untrained(2, backward=True)]
    found = list(choices(Reranker(members), lists))
    for choice, nbest in zip(found, lists, strict=True):
        alone = {Reranker([member]).rerank(nbest).tree for member in members}
        assert choice.do_agree == (alone == {choice.tree})
        assert choice.is_first == (choice.tree == nbest.candidates[0].text)


def test_one_candidate_is_certain() -> None:
    (choice,) = choices(Reranker([untrained(1)]), [from_candidates(CANDIDATES[:1])])
    assert choice.margin is None
    assert choice.is_certain(1e9)


def test_what_is_learned_from() -> None:
    """Not what is held out, nor what is repeated or uncertain."""
    made = [
        Choice(f"(S1 (S (NN a{number}) (NN b)))", 5.0, number != 3, True)
        for number in range(2 * HELD_OUT)
    ]
    made[5] = Choice(made[HELD_OUT].tree.replace("a", "A"), 9.0, True, True)
    made[6] = made[7]
    made[8] = Choice("(S1 (S (NN near)))", 4.9, True, True)
    found = silver(made, 5.0)
    assert [tree.tags for tree in found.held_out] == [("NN", "NN")] * 2
    words = [tree.tokens for tree in found.held_out]
    assert words == [("(S", "a0", "b", ")S"), ("(S", f"a{HELD_OUT}", "b", ")S")]
    assert found.repeated == 2
    learned = {tree.tokens[1] for tree in found.learned}
    kept_back = {"a0", f"a{HELD_OUT}", "a3", "a5", "a6", "a8"}
    assert learned == {f"a{number}" for number in range(2 * HELD_OUT)} - kept_back
    everything = {tree.tokens[1] for tree in silver(made, None).learned}
    # Of 6 and 7, which are one sentence, and of 5, which is held out, nothing more is learned.
    assert everything == learned | {"a3", "near"}


def test_gold_trees_are_repeated_to_their_share() -> None:
    silver_trees = [TaggedTree(("x",) * 10)] * 12
    gold = [TaggedTree(("y",) * 10)] * 2
    assert len(mixed(silver_trees, gold, 0.4)) == 12 + 2 * 4
    assert mixed(silver_trees, [], 0.4) == silver_trees
    assert mixed(silver_trees, gold, 0.0) == silver_trees
    much = [TaggedTree((f"y{number}",) * 10) for number in range(100)]
    assert mixed(silver_trees, much, 0.4)[12:] == [much[n] for n in (0, 12, 25, 37, 50, 62, 75, 87)]
