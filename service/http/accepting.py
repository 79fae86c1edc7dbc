"""The form of an answer that a client takes (RFC 9110, section 12.5.1)."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import Request

from reranker.service.errors import RequestError


def chosen(request: Request, offered: Sequence[str]) -> str:
    """Return the offered media type that ``Accept`` prefers. Of several of equal quality, it is the
    type that ``Accept`` names, or names first, else the first of ``offered``. Raises RequestError
    406 if the client accepts none."""
    ranges = [_range(text) for text in request.headers.get("accept", "").split(",") if text.strip()]
    if not ranges:
        return offered[0]
    best = max(offered, key=lambda media: _liking(media, ranges))
    if _liking(best, ranges)[0] == 0:
        named = ", ".join(offered)
        raise RequestError(406, "not-acceptable", f"the answer can be {named}", "Accept")
    return best


def _range(text: str) -> tuple[str, float]:
    """Return a media range and its quality, from 0 to 1; 0 for a quality that is no number."""
    media, *parameters = (part.strip().lower() for part in text.split(";"))
    quality = next((part[2:] for part in parameters if part.startswith("q=")), "1")
    try:
        return media, min(1.0, max(0.0, float(quality)))
    except ValueError:
        return media, 0.0


def _liking(media: str, ranges: Sequence[tuple[str, float]]) -> tuple[float, int, int]:
    """Return quality, exactness and earliness of the most exact range that has the media type."""
    kind = media.partition("/")[0]
    for exactness, name in ((2, media), (1, f"{kind}/*"), (0, "*/*")):
        for place, (given, quality) in enumerate(ranges):
            if given == name:
                return quality, exactness, -place if exactness == 2 else -len(ranges)
    return 0.0, 0, 0
