from __future__ import annotations

import torch

from benchmarks.scoring.inflate import inflated
from reranker.models import AwdLstmDoc, Config


def test_what_is_added_changes_nothing_but_the_mixture() -> None:
    torch.manual_seed(1)
    # One component from each layer: each is repeated, five and fifteen times.
    small = AwdLstmDoc(Config(40, 8, (12, 12, 8), (0, 0, 1, 1), embedding_range=1.0)).eval()
    large = inflated(small).eval()
    tokens = torch.randint(0, 40, (6, 2))
    with torch.no_grad():
        few, _ = small(tokens, small.initial_state(2))
        many, _ = large(tokens, large.initial_state(2))
        # Five times the weight of the first, fifteen of the second: what the repeats amount to.
        few = few._replace(
            log_weights=torch.log_softmax(few.log_weights + torch.tensor([5.0, 15.0]).log(), -1)
        )
        expected = small.log_probabilities(few)
        found = large.log_probabilities(many)
    assert (found[..., :40] - expected).abs().max() < 1e-4
    assert found[..., 40:].max() < -20
