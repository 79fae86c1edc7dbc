"""Perplexity, the same in every report."""

from __future__ import annotations

import math

_LARGEST_EXPONENT = 700.0  # exp of 710 is too large for a float


def perplexity(nll: float, units: float) -> float:
    """Return exp of the negative log-likelihood ``nll`` (in nats) per unit; infinite if out of
    range.

    >>> round(perplexity(6.931472, 10), 3), perplexity(1e6, 10)
    (2.0, inf)
    """
    exponent = nll / units
    return math.exp(exponent) if exponent < _LARGEST_EXPONENT else math.inf
