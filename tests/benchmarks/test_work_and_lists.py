"""The divisors of the benchmarks, and the lists that they measure on."""

import pytest

from benchmarks.latency import stretched
from benchmarks.scoring.__main__ import options
from benchmarks.scoring.lists import Setting, TimedSentence, enlarged, load, sample
from benchmarks.scoring.measure import work_per_token
from reranker.checkpoints.vocabulary import Vocabulary
from reranker.errors import RerankError
from reranker.models import Config
from reranker.nbest import Candidate, NBest

EOS = 9
# <eos> 1 2 and <eos> 1 3 share <eos> and 1; the third candidate repeats the first.
SENTENCE = [[1, 2, EOS], [1, 3, 4, EOS], [1, 2, EOS]]


def test_work_of_a_small_model_by_hand() -> None:
    # Two layers, 2 -> 3 -> 4, two softmaxes from the first layer and one from the second.
    config = Config(7, 2, (3, 4), (0, 2, 1))
    lstm, projections, decoder = work_per_token(config)
    assert lstm == 2 * (4 * 3 * (2 + 3) + 4 * 4 * (3 + 4))
    assert projections == 2 * (3 * 2 * 2 + 4 * 1 * 2 + 4 * 3)  # k from each layer, and pi
    assert decoder == 2 * 3 * 2 * 7


def test_one_softmax_over_the_last_layer_has_no_projections() -> None:
    assert work_per_token(Config(7, 2, (3,), (), tied=False))[1:] == (0, 2 * 3 * 7)


def test_work_in_the_papers_sizes() -> None:
    work = work_per_token(Config(6_922))
    assert sum(work) / 1e6 == pytest.approx(117.6, abs=0.05)
    shares = [round(100 * part / sum(work)) for part in work]
    assert shares == [27, 7, 66]


def test_nodes_are_the_beginnings_that_something_follows() -> None:
    # "", 1, 1 2, 1 3, 1 3 4; then "" and 1.
    sentences = [TimedSentence(NBest("0", (), (), 1), ids) for ids in (SENTENCE, [[1, EOS]])]
    setting = Setting("", [], sentences)
    assert setting.nodes == 5 + 2
    assert setting.raw_tokens == 10 + 2


def lists_of(*sentences: list[str]) -> list[NBest]:
    """Return lists with each candidate as its tokens, separated by blanks."""
    return [
        NBest(
            "0", tuple(Candidate(i, t, tuple(t.split()), None, 1) for i, t in enumerate(one)), (), 1
        )
        for one in sentences
    ]


def test_shorter_lists_and_ids() -> None:
    small = ["--lists", "examples/parses.txt", "--sentences", "3", "--candidates", "2"]
    setting = load(options().parse_args(small))
    assert [len(each.nbest.candidates) for each in setting.sentences] == [2, 2, 2]
    (checkpoint,) = setting.checkpoints
    for sentence in setting.sentences:
        first = sentence.nbest.candidates[0]
        assert sentence.ids[0] == checkpoint.vocabulary.encode(first.tokens)


def test_a_sample_is_the_middle_of_equal_parts() -> None:
    lists = lists_of(*(["word " * length] for length in [5, 1, 4, 2, 6, 3]))
    # In order 1 2 | 3 4 | 5 6, the later of each two.
    assert [len(one.candidates[0].tokens) for one in sample(lists, 3)] == [2, 4, 6]
    assert len(sample(lists, 100)) == 6


def test_larger_vocabularies() -> None:
    vocabulary = Vocabulary(["(S", "<eos>", "it", "<unk>", "runs", "(<unk>", ")<unk>"])
    larger = enlarged(vocabulary, 9)
    assert larger.symbols[:7] == vocabulary.symbols
    assert len(larger) == 9
    backward = Vocabulary(vocabulary.symbols, {"zebra": 3}, backward=True)
    assert enlarged(backward, 7) == backward
    with pytest.raises(RerankError, match="2 symbols too many"):
        enlarged(vocabulary, 5)


def test_stretched_lists_keep_words_and_begin_as_given() -> None:
    (given,) = lists_of(["(S (NP It )NP runs )S", "(S It runs )S"])
    longer = stretched(given, 50, seed=1)
    found = [one.tokens for one in longer.candidates]
    assert [one.index for one in longer.candidates] == list(range(50))
    assert longer.candidates[:2] == given.candidates
    assert {tuple(t for t in each if t[0] not in "()") for each in found} == {("It", "runs")}
    assert {token for each in found for token in each} == {"(S", "(NP", ")NP", ")S", "It", "runs"}
    assert 2 < len(set(found)) < 50  # some are new, some repeat
    assert stretched(given, 1).candidates == given.candidates[:1]
    (alone,) = lists_of(["Yes"])
    assert [one.tokens for one in stretched(alone, 3).candidates] == [("Yes",)] * 3
