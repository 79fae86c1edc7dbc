"""The charts of several sentences at once: the recursions of ``reranker.chart``, vectorised over
sentences and over all spans of one width, for a GPU. Where sentences differ in length, what lies
behind a shorter one is computed, too, and never looked at.

Arrays are indexed by sentence, start (or end) and width; a part's width is counted from the
longest, so that spans that meet are neighbours in a row."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


class Charts:
    """The scores of all spans of B sentences of at most n words, [B, n, n + 1]."""

    def __init__(
        self,
        labels: Tensor,
        total: Callable[[Tensor, Tensor], None],
        either: Callable[..., Tensor],
    ) -> None:
        """Fill the arrays; ``labels`` [B, n, n + 1] are the scores of a constituent around each
        span. ``total`` combines the scores of a span's possible contents into its second argument,
        ``either`` the scores with and without a constituent around them, into ``out``."""
        batch, words, _ = labels.shape
        self.words = words
        self.sequence, self.closed = torch.zeros_like(labels), torch.zeros_like(labels)
        self.open = torch.zeros_like(labels)
        self.part = labels.new_zeros(batch, words + 1, words + 1)
        for width in range(1, words + 1):
            spans = words - width + 1
            every = self.sequence, self.closed, self.open
            inside, closed, opened = (each[:, :spans, width] for each in every)
            if width > 1:
                total(self.splits(width), inside)
            torch.add(inside, labels[:, :spans, width], out=closed)
            either(inside, closed, out=opened)
            self.part[:, width:, words - width] = closed if width > 1 else opened

    def splits(self, width: int) -> Tensor:
        """Return, for every span of this width, the score of the best sequence for each width of
        all but its last part, [B, spans, width - 1]."""
        spans = self.words - width + 1
        return self.open[:, :spans, 1:width] + self.part[:, width:, spans : self.words]

    def of_whole(self, lengths: Tensor) -> Tensor:
        """Return the score of each whole sentence, [B]."""
        return self.open[:, 0].gather(1, lengths[:, None])[:, 0]


def best_trees(labels: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return the score of the best tree of each sentence, [B], and the constituents of all these
    trees, [C, 3]: sentence, start and width, in order, parents before children. ``labels`` [B, n, n
    + 1] are the scores of the best label of each span, ``lengths`` [B] the words."""
    words = labels.shape[1]
    middles = torch.zeros_like(labels, dtype=torch.long)

    def best(splits: Tensor, inside: Tensor) -> None:
        spans, width = splits.shape[1], splits.shape[2] + 1
        torch.max(splits, 2, out=(inside, middles[:, :spans, width]))

    charts = Charts(labels, best, torch.maximum)
    is_closed = charts.closed > charts.sequence
    of_open = torch.zeros_like(is_closed)
    of_part, chosen = torch.zeros_like(charts.part, dtype=torch.bool), torch.zeros_like(is_closed)
    of_open[:, 0].scatter_(1, lengths[:, None], True)
    for width in range(words, 0, -1):
        spans = words - width + 1
        opened, part = of_open[:, :spans, width], of_part[:, width:, spans - 1]
        either = opened | part
        if width == 1:  # a single word is the same as an open item
            opened, part = either, torch.zeros_like(part)
        chosen[:, :spans, spans - 1] = (opened & is_closed[:, :spans, width]) | part
        if width > 1:
            # Column 0, of no span, is for spans that are not in the tree.
            first = ((middles[:, :spans, width] + 1) * either).unsqueeze(2)
            of_open[:, :spans].scatter_(2, first, True)
            of_part[:, width:].scatter_(2, first + (spans - 1) * either.unsqueeze(2), True)
    spans_of = chosen.nonzero()
    spans_of[:, 2] = words - spans_of[:, 2]
    return charts.of_whole(lengths), spans_of


def constituent_probabilities(labels: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return the logarithm of the sum over all trees of exp of their scores, [B], and P(there is a
    constituent) of every span, [B, n, n + 1]. ``labels`` [B, n, n + 1] are the logarithms of the
    sum over labels of exp of the score of each span, ``lengths`` [B] the words."""
    inside = Charts(labels, _log_sum, torch.logaddexp)
    words = inside.words
    closed_share = (inside.closed - inside.open).exp_()
    sequence_share = (inside.sequence - inside.open).exp_()
    of_closed, of_open = torch.zeros_like(labels), torch.zeros_like(labels)
    of_part = torch.zeros_like(inside.part)
    of_open[:, 0].scatter_(1, lengths[:, None], 1.0)
    for width in range(words, 0, -1):
        spans = words - width + 1
        opened, part = of_open[:, :spans, width], of_part[:, width:, spans - 1]
        if width == 1:  # a single word is the same as an open item
            opened, part = opened + part, torch.zeros_like(part)
        closed = of_closed[:, :spans, width]
        torch.addcmul(part, opened, closed_share[:, :spans, width], out=closed)
        if width > 1:
            weight = torch.addcmul(closed, opened, sequence_share[:, :spans, width])
            sequence = inside.sequence[:, :spans, width]
            shares = inside.splits(width).sub_(sequence.unsqueeze(2)).exp_()
            shares *= weight.unsqueeze(2)
            of_open[:, :spans, 1:width] += shares
            of_part[:, width:, spans:words] += shares
    return inside.of_whole(lengths), of_closed


def _log_sum(splits: Tensor, inside: Tensor) -> None:
    most = splits.amax(2)
    torch.add(splits.sub_(most.unsqueeze(2)).exp_().sum(2).log_(), most, out=inside)
