"""Ends of English sentences: behind full stops, and behind the full stops of some abbreviations."""

from __future__ import annotations

import re
from collections.abc import Iterator

# Words with which sentences begin. Before these words an abbreviation ("at 5 p.m. They left"), a
# letter or a number ends a sentence, which syntok misses; the number of a list's item does not.
_BEGINS = (
    "I|You|He|She|It|We|They|The|This|That|These|Those|There|Then|His|Her|Its|Our|Their|My|Your|"
    "But|And|So|Yet|Or|Nor|However|If|When|While|Although|Though|Because|After|Before|Since|Until|"
    "As|In|On|At|For|From|With|To|By|During|Despite|What|Who|Why|How|Where|Which|No|Not|Yes|All|"
    "Some|Many|Most|Both|Each|One|Another|Such|Several|Few|Every|Also|Thus|Therefore|Moreover|"
    "Furthermore|Nevertheless|Instead|Indeed|Meanwhile|Perhaps|Maybe|Later|Here|Now|Even|Is|Are|"
    "Was|Were|Do|Does|Did|Have|Has|Had|Can|Could|Would|Should|Let|Everyone|Nobody|Nothing|Someone"
)
_BEGIN = rf"(?:(?:{_BEGINS})(?:['\u2019][a-z]+)?[\s,]|An?\s+[a-z])"
_BEHIND = re.compile(
    r"(?<![.!?:\n]\s\d)(?<![.!?:\n]\s\d\d)(?<!^\d)(?<!\n\d)(?<!\n\d\d)"
    rf"[.?!]['\")\]\u201d\u2019]*+\s++(?={_BEGIN})"
)

# Abbreviations before any name: Dr. Who, Mr. No.
_TITLES = (
    "Drs?|Mr|Mrs|Ms|Mx|Messrs|Mmes?|Mlles?|Profs?|Revs?|Fr|Msgr|Rt|Hon|Pres|Govs?|Sens?|Reps?|Gens?|"
    "Lts?|Cols?|Maj|Capts?|Cmdr|Cdr|Cpl|Sgts?|Pvt|Adm|Brig|Amb|Atty|Supt|Insp|Det"
)
# Abbreviations in the middle of a sentence, whatever follows.
_WITHIN = r"e\.\s?g|i\.\s?e|[Cc]f|[Vv]s|[Vv]iz|[Aa]pprox|ca|esp|incl"
# Abbreviations before a number or another name of a part: No. 5, Vol. II, Fig. S3.
_PARTS = (
    "[Nn]os?|[Ff]igs?|FIGS?|[Ee]q[sn]?|[Ss]ec|[Ss]ects?|[Cc]h|[Cc]haps?|[Vv]ols?|[Pp]p?|[Rr]efs?|"
    "[Rr]te?|[Hh]wy|[Ss]uppl|[Pp]aras?|[Ee]xt|[Tt]el|[Vv]er|Arts?|Apps?|Tabs?|Exs?|Ser|Pts?|Bks?|Ln|"
    "Apts?|Ste|Bldg|Op|[Ii]bid|cit|[Cc]a?|lbs?|oz|ft|hrs?|mins?|secs?"
)
_PART = r"[\[(#\u00a7]?\d|[A-Z]\d|[IVXLC]{2,}\b|[B-HJ-Z]\b"
_MONTHS = "Jan|Febr?|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec"
_DAYS = "Mon|Tues?|Weds?|Thu|Thurs?|Fri|Sat|Sun"
_ORDINAL = (
    r"(?:First|Second|Third|(?:Four|Fif|Six|Seven|Eigh|Nin|Ten|Eleven|Twelf|\w{3,5}teen|Twentie|"
    r"Thirtie)th|(?:Twenty|Thirty)-\w+)\b(?!,)"
)
# Abbreviations in names and places: they end a sentence only before a word that begins sentences.
_OF_NAMES = (
    "DR|MR|MRS|PROF|GEN|SEN|GOV|REV|Jr|Sr|Esq|Bros|Cos?|Corp|Inc|Ltd|Assn|Assoc|Dept|Univ|Inst|"
    "Intl|Natl|Govt|Mfg|Sts?|Ste|Mts?|Ft|Pt|Ave|Blvd|Rd|Sq|al|etc|eds?|Ala|Ariz|Ark|Calif|Colo|Conn|Del|Fla|Ga|Ill|Ind|Kan|Ky|La|Mass|Md|"
    "Mich|Minn|Miss|Mo|Mont|Neb|Nev|Okla|Ont|Ore|Pa|Penn|Que|Tenn|Tex|Va|Vt|Wash|Wis|Wyo"
)
_INITIALS = r"[A-Z]|(?:[A-Za-z][a-z]{0,2}\.){1,9}[A-Za-z]{1,3}"
_NAMES_WITH_MARK = "Yahoo|Yum|Jeopardy|Joomla|Oklahoma|Wham"
_SPACE = r"(?=\s)[^\S\n]*+(?:\n[^\S\n]*+)?(?=\S)"  # but no blank line
_NO_END = re.compile(
    rf"""(?<![\w.])(?:
        (?: (?:{_TITLES}|{_WITHIN})\.
          | (?:{_PARTS})\.(?=\s+(?:{_PART}))
          | (?:Ch|Vol|Sec|Fig|Bk|Pt|App|Art)\.(?=\s+[AI]\b)
          | (?:{_MONTHS})\.(?=\s+(?:['\u2019]?\d|{_ORDINAL}))
          | (?:{_DAYS})\.,?(?=\s+(?:\d|{_ORDINAL}|(?:{_MONTHS})\b))
          | (?:{_OF_NAMES}|{_MONTHS}|{_INITIALS})\.(?!\s+{_BEGIN})
          | (?:{_NAMES_WITH_MARK})!(?!\s+{_BEGIN})
        ){_SPACE})""",
    re.VERBOSE,
)


# Full stops as in syntok, which also ends sentences at brackets without a full stop.
_STOP = re.compile(
    "(?:[.!?;\u2026\u203c\u203d\u2047-\u2049\u3002\ufe52\ufe57\uff01\uff0e\uff1f\uff61]"
    r"[^\w\s]*\s*|\n\s*\n\s*)\Z"
)
_MAX_CLOSING = 40  # characters


def is_behind_stop(text: str, end: int) -> bool:
    """Return whether a full stop, or a blank line, is right before ``end`` in the text."""
    return _STOP.search(text[max(0, end - _MAX_CLOSING) : end]) is not None


def ends_behind(text: str) -> Iterator[int]:
    """Yield the ends of sentences before words with which sentences begin.

    >>> list(ends_behind("We met at 5 p.m. They left."))
    [17]
    """
    yield from (match.end() for match in _BEHIND.finditer(text))


def no_ends(text: str) -> Iterator[int]:
    """Yield places behind abbreviations where no sentence ends.

    >>> list(no_ends("On Oct. 3rd Dr. Who left."))
    [8, 16]
    """
    yield from (match.end() for match in _NO_END.finditer(text))
