import torch

from reranker.models.past import attention, latest, timeline, windows

# One row that remembers 1, 2, 3 and reads 4 and 5; another with 10 times that.
MEMORY = torch.tensor([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]])  # [B, L]
SEGMENT = torch.tensor([[4.0, 40.0], [5.0, 50.0]])  # [T, B]


def test_a_window_holds_what_was_before_each_position() -> None:
    line = timeline(MEMORY, SEGMENT)
    assert line.tolist() == [[1, 10], [2, 20], [3, 30], [4, 40], [5, 50]]
    before = windows(line, length=3, count=2)  # [T, B, L]
    assert before.tolist() == [[[1, 2, 3], [10, 20, 30]], [[2, 3, 4], [20, 30, 40]]]
    assert latest(line, 3).tolist() == [[3, 4, 5], [30, 40, 50]]
    assert latest(line, 0).tolist() == [[], []]


def test_windows_of_vectors_keep_the_vectors_last() -> None:
    vectors = torch.arange(30.0).view(5, 2, 3)  # [L + T, B, D]
    assert torch.equal(windows(vectors, 3, 2)[1, 0], vectors[1:4, 0])


def test_attention_is_paid_to_what_there_is() -> None:
    scores = torch.tensor([[7.0, 0.0, 0.0], [1e30, 0.0, 0.0], [0.0, 0.0, 0.0]])
    filled = torch.tensor([[False, True, True], [True, True, True], [False, False, False]])
    assert attention(scores, filled).tolist() == [[0, 0.5, 0.5], [1, 0, 0], [0, 0, 0]]
