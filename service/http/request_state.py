"""The state of a request: its client, its key, and fields of its line in the log."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.types import Scope

from reranker.service.keys import NO_KEY

_NAME = "rerank"


@dataclass(slots=True)
class RequestState:
    """The state of one request, from its arrival to its line in the log."""

    request_id: str
    arrived: float = field(default_factory=time.monotonic)
    key: str = NO_KEY
    """The label of the key."""
    client: str = ""
    """The client that the request counts for (``fairness.client``)."""
    details: dict[str, object] = field(default_factory=dict)
    """Fields of the log."""
    reserve: Callable[[int, int], None] = lambda count, expected: None
    """Reserves bytes for the request at its client's expense: see ``BodyBytes.reserved``."""

    def add_to(self, scope: Scope) -> None:
        """Put this state into the scope, where ``state_of`` finds it."""
        scope.setdefault("state", {})[_NAME] = self


def state_of(request: Request | Scope) -> RequestState:
    """Return the state that ``RequestLog`` has added to the scope of a request."""
    scope = request.scope if isinstance(request, Request) else request
    state: RequestState = scope["state"][_NAME]
    return state
