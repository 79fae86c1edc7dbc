"""The number of replicas of the service: ``autoscaling_config`` in Ray Serve's files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ray.serve.config import AutoscalingContext

WORK = "work_seconds"
"""The figure a replica reports: the time it needs for the tokens it still has to score."""


class QueuedWork:
    """A ``policy_function`` that runs enough replicas to leave each ``seconds`` of work. The number
    of requests says little, since one may be a list and another a treebank.

    Ray averages over ``look_back_period_s``, waits for ``upscale_delay_s`` and
    ``downscale_delay_s`` and keeps within ``min_replicas`` and ``max_replicas``.
    """

    def __init__(self, seconds: float = 2.0) -> None:
        """Raise ValueError unless ``seconds`` is positive."""
        if not seconds > 0:
            raise ValueError(f"seconds of work for each replica are above 0, not {seconds!r}")
        self._seconds = seconds

    def __call__(self, context: AutoscalingContext) -> tuple[float, dict[str, Any]]:
        """Return the number of replicas, which Ray rounds up, and an empty state."""
        reported = (context.aggregated_metrics or {}).get(WORK, {})
        return sum(reported.values()) / self._seconds, {}
