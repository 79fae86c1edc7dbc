"""Bodies in the charset that ``Content-Type`` declares, as UTF-8."""

from __future__ import annotations

import codecs
import encodings
from encodings.aliases import aliases

from reranker.service.errors import RequestError
from reranker.service.limits import Limits

# Names of Python's codecs. None of them can make a body more than three times as long.
_CODECS = frozenset(
    [
        *("ascii", "utf_8", "utf_8_sig", "latin_1", "koi8_r", "koi8_u", "mac_roman", "tis_620"),
        *("utf_16", "utf_16_le", "utf_16_be", "utf_32", "utf_32_le", "utf_32_be"),
        *(f"iso8859_{part}" for part in (*range(2, 12), *range(13, 17))),
        *(f"cp{page}" for page in (437, 850, 852, 866, 874, *range(1250, 1259))),
        *("gb2312", "gbk", "gb18030", "big5", "big5hkscs", "cp950"),
        *("shift_jis", "cp932", "euc_jp", "iso2022_jp", "euc_kr", "cp949"),
    ]
)

# The longer marks first: that of UTF-16 begins that of UTF-32.
_MARKS = (
    (codecs.BOM_UTF8, "utf_8"),
    (codecs.BOM_UTF32_LE, "utf_32"),
    (codecs.BOM_UTF32_BE, "utf_32"),
    (codecs.BOM_UTF16_LE, "utf_16"),
    (codecs.BOM_UTF16_BE, "utf_16"),
)


def codec_of(charset: str) -> str | None:
    """Return the name of Python's codec for a charset, or None for a charset that is not read here.

    Python itself would remember every name that it is asked for, and import a module of that name.
    """
    name = encodings.normalize_encoding(charset).lower()
    name = aliases.get(name, name)
    return name if name in _CODECS else None


def as_utf8(body: bytes, codec: str | None, limits: Limits) -> bytes:
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
