import random
from collections import Counter
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from reranker.errors import ConfigError
from reranker.models.batch import PADDING, Batch
from reranker.plugins.training.corpus.batches import StreamBatches, TreeBatches

EOS = 0


def random_trees(count: int, longest: int) -> list[list[int]]:
    """Return trees of 2 to ``longest`` ids, no two alike, each ending in EOS."""
    generator = random.Random(1)
    return [[n] * generator.randint(1, longest - 1) + [EOS] for n in range(1, count + 1)]


def trees_in(batch: Batch) -> list[tuple[int, ...]]:
    columns = batch.targets.T.tolist()
    return [tuple(number for number in column if number != PADDING) for column in columns]


def one_epoch(batches: TreeBatches | StreamBatches) -> list[Batch]:
    taken = [batches.next()]
    while batches.progress % 1:
        taken.append(batches.next())
    return taken


def same(one: Batch, other: Batch) -> bool:
    return (
        torch.equal(one.inputs, other.inputs)
        and torch.equal(one.targets, other.targets)
        and one.continues == other.continues
    )


def columns(tensor: Tensor) -> list[list[int]]:
    return [list(map(int, column)) for column in tensor.T.tolist()]


@pytest.mark.parametrize(("count", "epochs"), [(2_050, 1), (50, 3)])  # two pools, one pool
def test_an_epoch_holds_every_tree_once(count: int, epochs: int) -> None:
    trees = random_trees(count, longest=8)
    batches = TreeBatches(trees, EOS, batch_tokens=240, seed=1)
    for _ in range(epochs):
        taken = Counter(tree for batch in one_epoch(batches) for tree in trees_in(batch))
        assert taken == Counter(map(tuple, trees))


def test_batches_stay_within_their_tokens_and_waste_few_on_padding() -> None:
    trees = random_trees(600, longest=40)
    taken = one_epoch(TreeBatches(trees, EOS, batch_tokens=240, seed=1))
    sizes = [batch.targets.numel() for batch in taken]
    assert max(sizes) <= 240
    assert sum(sizes) < 1.1 * sum(map(len, trees))
    # Another tree of the same length would have fitted into few of them.
    roomy = [b for b in taken if b.targets.numel() + len(b.targets) <= 240]
    assert len(roomy) < 0.2 * len(taken)


def test_a_tree_longer_than_a_batch_comes_alone() -> None:
    trees = [[1, EOS], [2, EOS], [3] * 9 + [EOS]]
    taken = one_epoch(TreeBatches(trees, EOS, batch_tokens=4, seed=1))
    assert sorted(sorted(trees_in(batch)) for batch in taken) == [
        [(1, EOS), (2, EOS)],
        [(3,) * 9 + (EOS,)],
    ]


def test_epochs_differ_seeds_differ_and_the_same_seed_does_not() -> None:
    trees = random_trees(60, longest=9)

    def order(seed: int, epoch: int) -> list[list[tuple[int, ...]]]:
        batches = TreeBatches(trees, EOS, batch_tokens=30, seed=seed)
        batches.seek(epoch, 0)
        return [trees_in(batch) for batch in one_epoch(batches)]

    assert order(seed=1, epoch=0) == order(seed=1, epoch=0)
    assert order(seed=1, epoch=0) != order(seed=1, epoch=1)
    assert order(seed=1, epoch=0) != order(seed=2, epoch=0)


def test_progress_counts_epochs() -> None:
    trees = [[number, EOS] for number in range(1, 9)]
    batches = TreeBatches(trees, EOS, batch_tokens=4, seed=1)  # two trees, four batches
    seen = [batches.progress]
    for _ in range(5):
        batches.next()
        seen.append(batches.progress)
    assert seen == [0, 0.25, 0.5, 0.75, 1, 1.25]


def tree_batches() -> TreeBatches:
    return TreeBatches(random_trees(40, longest=9), EOS, batch_tokens=50, seed=3)


def stream_batches() -> StreamBatches:
    return StreamBatches(random_trees(40, longest=9), EOS, batch_size=2, length=10, seed=3)


@pytest.mark.parametrize("make", [tree_batches, stream_batches])
def test_seek_brings_back_exactly_the_batches_that_followed(
    make: Callable[[], TreeBatches | StreamBatches],
) -> None:
    uninterrupted = make()
    for _ in range(25):  # past the end of an epoch, and often right at it
        place = uninterrupted.epoch, uninterrupted.position
        resumed = make()
        resumed.seek(*place)
        expected = uninterrupted.next()
        assert same(resumed.next(), expected)
        assert resumed.progress == uninterrupted.progress
    assert uninterrupted.epoch >= 1
    assert same(resumed.next(), uninterrupted.next())


def test_a_stream_by_hand() -> None:
    # The stream is 0 1 2 0 3 4 5 0 6 0: nine targets, so two columns of four; the last is left.
    trees = [[1, 2, EOS], [3, 4, 5, EOS], [6, EOS]]
    batch = StreamBatches(trees, EOS, batch_size=2, length=70, seed=1).next()
    assert columns(batch.inputs) == [[0, 1, 2, 0], [3, 4, 5, 0]]
    assert columns(batch.targets) == [[1, 2, 0, 3], [4, 5, 0, 6]]


def test_stream_batches_put_together_are_the_whole_stream() -> None:
    trees = random_trees(100, longest=12)
    batches = StreamBatches(trees, EOS, batch_size=3, length=20, seed=1)
    taken = one_epoch(batches)
    stream = [EOS, *(number for tree in trees for number in tree)]
    rows = (len(stream) - 1) // 3
    inputs = torch.cat([batch.inputs for batch in taken])
    targets = torch.cat([batch.targets for batch in taken])
    assert columns(inputs) == [stream[n * rows : (n + 1) * rows] for n in range(3)]
    assert columns(targets) == [stream[n * rows + 1 : (n + 1) * rows + 1] for n in range(3)]
    assert [batch.continues for batch in taken] == [False] + [True] * (len(taken) - 1)
    assert not batches.next().continues  # the next epoch starts from the start state


def test_stream_lengths_are_drawn_around_the_mean_or_its_half() -> None:
    batches = StreamBatches([[1] * 40_000 + [EOS]], EOS, batch_size=1, length=70, seed=1)
    lengths = [len(batch.inputs) for batch in one_epoch(batches)][:-1]  # the last is the remainder
    long = [length for length in lengths if length > 52]
    short = [length for length in lengths if length <= 52]
    # About 580 batches, 29 of them short (standard deviation 5); lengths deviate by 5.
    assert 0.02 < len(short) / len(lengths) < 0.08
    assert sum(long) / len(long) == pytest.approx(70, abs=1)
    assert sum(short) / len(short) == pytest.approx(35, abs=4)
    assert min(long) < 65 < 75 < max(long)


def test_stream_lengths_never_vanish() -> None:
    batches = StreamBatches([[1] * 400 + [EOS]], EOS, batch_size=1, length=1, seed=1)
    assert min(len(batch.inputs) for batch in one_epoch(batches)[:-1]) == 5


def test_more_columns_than_tokens_is_the_configurations_fault() -> None:
    trees = [[1, EOS], [2, EOS]]
    assert StreamBatches(trees, EOS, batch_size=4, length=70, seed=1).next().inputs.shape == (1, 4)
    with pytest.raises(ConfigError, match=r"batch_size .*5.*4 tokens"):
        StreamBatches(trees, EOS, batch_size=5, length=70, seed=1)


def test_segments_of_one_length_and_openings_that_are_given() -> None:
    # 0 1 2 0 9 3 4 0 9 5 0: ten targets in two columns of five; 9 opens an article.
    lines = [[1, 2, EOS], [9], [3, 4, EOS], [9], [5, EOS]]
    batches = StreamBatches(lines, EOS, batch_size=2, length=2, seed=1, varied=False, opening=9)
    taken = one_epoch(batches)
    assert [len(batch.inputs) for batch in taken] == [2, 2, 1]
    assert [batch.opening for batch in taken] == [9, 9, 9]
    inputs = torch.cat([batch.inputs for batch in taken])
    targets = torch.cat([batch.targets for batch in taken])
    assert columns(inputs) == [[0, 1, 2, 0, 9], [3, 4, 0, 9, 5]]
    assert columns(targets) == [[1, 2, 0, PADDING, 3], [4, 0, PADDING, 5, 0]]
