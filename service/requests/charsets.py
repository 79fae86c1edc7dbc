"""Bodies in the charset that ``Content-Type`` declares, as UTF-8."""

from __future__ import annotations

import codecs

from reranker.service.errors import RequestError
from reranker.service.limits import Limits

# The longer marks first: that of UTF-16 begins that of UTF-32.
_MARKS = (
    (codecs.BOM_UTF8, "utf_8"),
    (codecs.BOM_UTF32_LE, "utf_32"),
    (codecs.BOM_UTF32_BE, "utf_32"),
    (codecs.BOM_UTF16_LE, "utf_16"),
    (codecs.BOM_UTF16_BE, "utf_16"),
)


def decoded(body: bytes, codec: str | None, limits: Limits) -> bytes:
    """Decode by the byte order mark, else by the declared charset, else as UTF-8, and return the
    body as UTF-8 without its mark. With neither, bytes that are not UTF-8 stay as they are.

    Raises RequestError 400 for a body that is not in its charset, and 413 for one that becomes
    longer than ``max_body_bytes``.
    """
    marked = next((name for mark, name in _MARKS if body.startswith(mark)), None)
    if codec is None and marked in (None, "utf_8"):
        return body.removeprefix(codecs.BOM_UTF8)
    codec = marked or codec
    assert codec is not None
    if codec in ("utf_16", "utf_32") and marked is None:
        # Python would take the order of this machine's bytes, others take the opposite one.
        shown = codec.replace("_", "-")
        message = f"a body in {shown} begins with a byte order mark: else declare {shown}-le or -be"
        raise RequestError(400, "undecodable", message, "Content-Type")
    try:
        text = body.decode(codec)
    except UnicodeDecodeError as error:
        wrong = " ".join(f"0x{byte:02x}" for byte in error.object[error.start : error.end][:4])
        shown = codec.replace("_", "-")
        message = f"the body is not {shown} at offset {error.start}: {wrong} ({error.reason})"
        raise RequestError(400, "undecodable", message, "Content-Type") from error
    content = text.removeprefix("\ufeff").encode()
    if len(content) > max(len(body), limits.max_body_bytes):
        limit = limits.max_body_bytes
        message = f"the body is longer than max_body_bytes = {limit} when it is written in UTF-8"
        raise RequestError(413, "too-large", message)
    return content
