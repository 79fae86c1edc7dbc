"""Checks of schemathesis beside its own; see fuzz_service.py."""

from __future__ import annotations

from typing import Any

import schemathesis
from schemathesis.generation import GenerationMode

# Bodies that follow the schema and are refused all the same: no list of the requested dialect,
# more than a limit allows, or a language that the models do not know.
_BEYOND_SCHEMAS = {"unreadable", "over-limit", "wrong-language"}


@schemathesis.check
def what_follows_the_schema_is_taken(
    context: schemathesis.CheckContext,
    response: schemathesis.Response,
    case: schemathesis.Case[Any],
) -> None:
    is_positive = case.meta is not None and case.meta.generation.mode is GenerationMode.POSITIVE
    if is_positive and response.status_code in (400, 413, 415, 422):
        code = response.json()["error"]["code"]
        assert code in _BEYOND_SCHEMAS, f"refused although it follows the schema: {code}"


@schemathesis.check
def errors_have_one_form(
    context: schemathesis.CheckContext,
    response: schemathesis.Response,
    case: schemathesis.Case[Any],
) -> None:
    if response.status_code >= 400 and case.method != "HEAD":
        error = response.json()["error"]
        assert set(error) == {"code", "message", "param", "request_id"}
        assert response.headers["x-request-id"] == [error["request_id"]]
        assert "Traceback" not in error["message"]
