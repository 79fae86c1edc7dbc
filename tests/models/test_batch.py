import torch
from torch import Tensor

from reranker.models.batch import PADDING, grouped_by_length, whole_trees

EOS = 0


def columns(tensor: Tensor) -> list[list[int]]:
    return [list(map(int, column)) for column in tensor.T.tolist()]


def test_whole_trees_start_from_eos_and_end_in_padding() -> None:
    batch = whole_trees([[5, 6, EOS], [7, EOS], [EOS]], EOS)
    assert columns(batch.targets) == [[5, 6, EOS], [7, EOS, PADDING], [EOS, PADDING, PADDING]]
    assert columns(batch.inputs) == [[EOS, 5, 6], [EOS, 7, EOS], [EOS, EOS, EOS]]
    assert batch.inputs.dtype == batch.targets.dtype == torch.int64
    assert not batch.continues


def test_sequences_of_similar_length_share_a_batch() -> None:
    lengths = [3, 1, 9, 2, 1, 2]
    assert list(grouped_by_length(range(6), lengths, batch_tokens=6)) == [[1, 4, 3], [5, 0], [2]]
    assert list(grouped_by_length([5, 2, 4], lengths, batch_tokens=4)) == [[4, 5], [2]]
    assert list(grouped_by_length([], lengths, batch_tokens=6)) == []
