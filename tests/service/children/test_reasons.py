"""The reasons that clients get for a sentence that could not be parsed."""

from __future__ import annotations

import pytest

from reranker.nbest import Rejected
from reranker.service.children.reasons import UNSAID, for_log, presentable

RAISED = "KeyError: '/home/me/model'"
ENDED = "the parser ended with status 1"


def entry(code: str, message: str) -> Rejected:
    return Rejected(0, 1, code, message, "", "text")


@pytest.mark.parametrize(
    "names, code, message, told",
    [
        (["bllip"], "unparsed", "the parser found no tree", "the parser found no tree"),
        (["command"], "unparsed", f"{ENDED}: /a: no such file\nor folder", ENDED),
        (["command"], "too-long", f"{ENDED}: so", f"{ENDED}: so"),
        (["benepar"], "unparsed", RAISED, UNSAID),
        (["theirs"], "unparsed", "odd", UNSAID),
        (["bllip", "benepar"], "missing", f"benepar: {RAISED}", f"benepar: {UNSAID}"),
        (["bllip", "benepar"], "missing", f"bllip: {ENDED}: a", f"bllip: {ENDED}"),
        (["bllip", "benepar"], "unparsed", f"bllip: {ENDED}; benepar: {RAISED}", UNSAID),
        (["bllip", "benepar"], "missing", RAISED, UNSAID),
    ],
)
def test_only_what_we_say_ourselves(names: list[str], code: str, message: str, told: str) -> None:
    assert presentable(entry(code, message), names).message == told


def test_the_log_has_the_text_only_if_it_may() -> None:
    raised = entry("missing", f"benepar: {RAISED}")
    assert for_log(raised, with_text=False) == {"error": "KeyError"}
    assert for_log(raised, with_text=True) == {"error": "KeyError", "message": raised.message}
    assert for_log(entry("unparsed", "Aardvark"), with_text=False) == {"error": "unparsed"}
