"""English words that hold marks which are words by themselves elsewhere: addresses, names with an
ampersand, hashtags, emoticons, and words with an apostrophe in place of letters."""

from __future__ import annotations

import re
from collections.abc import Iterator

from reranker.text.ends import end_table

_TOP_LEVEL = (
    "com|org|net|edu|gov|mil|int|info|biz|io|ai|app|dev|me|tv|co|eu|uk|us|ca|au|nz|ie|de|at|ch|fr|"
    "es|it|nl|be|se|no|fi|dk|pl|cz|ru|jp|cn|in|br"
)
# An address, without the punctuation behind it: with a scheme or www; of mail; a host with a path
# or a query; a host.
_ADDRESS = (
    r"(?:\b(?:https?|ftp)://|\bwww\.)[^\s<>\"]*[\w/]"
    r"|(?<![\w.+-])[\w.+-]++@\w[\w-]*+(?:\.\w[\w-]*+)++"
    r"|(?<![\w.@-])(?:\w[\w-]*+\.)++(?:[a-z]{2,}+(?::\d{1,5})?"
    r"(?:/[^\s<>\"]*[\w/]|\?[^\s<>\"?=]*=[^\s<>\"]*\w)"
    rf"|(?:{_TOP_LEVEL})\b(?![.-]?\w))"
)
# AT&T, M&Ms, r&b; #marathon, @runclub
_NAME = (
    r"(?<![\w&])(?:[A-Z]{1,3}&[A-Z]{1,3}s?|[a-z]&[a-z])(?![\w&])"
    r"|(?<![\w#@&/])[#@]\d{0,4}[^\W\d_]\w*"
)
_FACE = (
    r"(?<!\S)(?:>?[:;][-'^o]?[)(\]\[}{DPpOo/\\|*]++|=-?[)(DPp]++|[80]-[)(]++|<(?:3++|/3)|\\o/"
    r"|\^[_.-]?\^|[oOT][_.][oOT]|-_+-)(?=[\s.,!?)]|\Z)"
    r"|(?<=[^\W\d_])[:;]-?[)(]++(?=[\s.,!?]|\Z)"
)
# '90s, 'em, 'n'; somethin', ol'; the beginnings of 'tis and y'know.
_SHORT = (
    r"(?<![\w'])'(?:\d\ds?|n'?|(?i:em|cause|cuz|til|till|bout|round|nother|neath))(?!\w)"
    r"|(?<!\w)(?:[^\W\d_]{2,20}in|(?i:ol|an|th|lil))'(?!\w)"
    r"|(?<![\w'])'[Tt](?=(?:is|was|were|will|would)\b)"
    r"|(?<!\w)[Yy]'(?=(?:know|all|see)\b)"
)
ADDRESS = re.compile(_ADDRESS)
_WHOLE = re.compile(rf"{_ADDRESS}|{_NAME}|(?P<face>{_FACE})|(?P<short>{_SHORT})")
_OPENING = re.compile(r"(?<!\w)'(?=\w)(?!(?i:em|cause|cuz|t[iw]|till?|bout|round|n|\d\ds?)\b)")
_CLOSING = re.compile(r"(?<=[^\Ws])(?<!in)'(?!\w)|(?<=[.,?!])'(?!\w)")
# Participles have a vowel in front of "in", and no "a" at the end of their verb.
_VERB = re.compile(r"\w*[aeiouy]\w*(?<!a)in\Z", re.IGNORECASE)
_NOUNS = frozenset(
    [
        *(
            "admin",
            "basin",
            "bulletin",
            "cabin",
            "chagrin",
            "coffin",
            "cousin",
            "cumin",
            "dolphin",
            "goblin",
        ),
        *("griffin", "gremlin", "heroin", "insulin", "javelin", "login", "margin", "merlin"),
        *("muffin", "napkin", "origin", "penguin", "plugin", "protein", "pumpkin", "raisin"),
        *("resin", "robin", "ruin", "satin", "toxin", "urchin", "violin", "virgin", "vitamin"),
    ]
)
_NEAR = 200  # characters in which the other quote of a quotation is searched


def whole_words(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the words are in a text, whose apostrophes are straight.

    >>> text = "Get 'em at AT&T (x-y.org/z), he said 'now' :-)"
    >>> [text[begin:end] for begin, end in whole_words(text)]
    ["'em", 'AT&T', 'x-y.org/z', ':-)']
    """
    for match in _WHOLE.finditer(text):
        begin, end = match.span()
        if match["face"]:
            is_whole = not _closes_bracket(text, begin, match["face"])
        else:
            is_whole = not (match["short"] and _is_quote(text, begin, end))
        if is_whole:
            yield begin, end


def _closes_bracket(text: str, place: int, face: str) -> bool:
    """Return whether the face is a colon and the closing bracket of an earlier opening one."""
    before = text[max(0, place - _NEAR) : place]
    return face.endswith(")") and before.rfind("(") > before.rfind(")")


def _is_quote(text: str, begin: int, end: int) -> bool:
    """Return whether the apostrophe of a short word is a quote, because its counterpart is near."""
    if text[begin] == "'":
        if text.startswith("'", end) and _OPENING.search(text, max(0, begin - _NEAR), begin):
            return True  # 'one' and '10s'
        near = text[end - 1 : end + _NEAR]
        return text[end - 1] not in "Tt" and _is_more(_CLOSING, _OPENING, near)
    if text[begin] in "Yy":
        return False
    word = text[begin : end - 1]
    if word.endswith("in") and not _is_participle(word):
        return True
    return _is_more(_OPENING, _CLOSING, text[max(0, begin - _NEAR) : begin + 1])


def _is_participle(word: str) -> bool:
    """Return whether a word is one without its last letter: *goin*, not *begin*, *cabin* or
    *Martin*."""
    if word in _NOUNS or not _VERB.match(word):
        return False
    is_word = end_table().is_word
    return is_word(f"{word}g") or (word[0].islower() and not is_word(word))


def _is_more(one: re.Pattern[str], other: re.Pattern[str], text: str) -> bool:
    return len(one.findall(text)) > len(other.findall(text))
