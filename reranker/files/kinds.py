"""The kinds of files that are neither text nor trees in brackets: their names, the advice to a
user, and their recognition from the beginning of a file. Every reader calls ``kind_of``."""

from __future__ import annotations

import re
from typing import NamedTuple

from reranker import registry
from reranker.errors import KindError
from reranker.files.file_sample import (
    FileSample,
    Recognise,
    begins,
    has_trees_beside,
    is_encoded,
    is_json,
    is_markup,
    is_table,
    is_tagged,
    rows,
    within,
)


class Kind(NamedTuple):
    """A kind of file that is neither text nor trees in brackets."""

    name: str
    text: str
    """The advice to a user who wants text."""
    trees: str = "it has no trees in brackets"
    """The advice to a user who wants trees."""
    treebank: str = ""
    """The reader of its trees in ``reranker.registry``, if there is one."""

    def described(self, wanted: str) -> str:
        """Return the kind's name and the advice to a user who wants ``"text"`` or ``"trees"``."""
        return f"{self.name}: {self.trees if wanted == 'trees' else self.text}"


LONGEST_START = 1 << 16
"""The characters examined to recognise a file."""

_WORDS = "write its words, one sentence per line with a space between them"
_UNTAGGED = "take the text out of its tags"
_TO_BRACKETS = "convert its trees to brackets first, with discodop or treetools"
_CONVERT = "convert it to UTF-8 first, or name its encoding: --encoding utf-16"
_FETCH = "fetch the file with git lfs pull"
_UNPACK = "unpack it first"
_MODELS = "language models are named by --models"
_AS_TEXT = "write its sentences as text, one per line"

_ENCODING = Kind("UTF-16 or another encoding than UTF-8", _CONVERT, _CONVERT)
_BINARY = Kind("binary data", _AS_TEXT)
SIGNATURES = [
    (kind, re.compile(signature, re.DOTALL))
    for kind, signature in (
        (
            Kind("a checkpoint", _MODELS, _MODELS),
            rb"PK\x03\x04.{,188}/data\.pkl|\x80[\x02-\x05].*torch|.{2,5}\0{3,6}\{\"|GGUF",
        ),
        (
            Kind("an office document", "save it as plain text (UTF-8) first"),
            rb"PK\x03\x04.{,176}(?:word/|xl/|mimetypeapplication/|\[Content_Types\])"
            rb"|\xd0\xcf\x11\xe0|\s*\{\\rtf",
        ),
        (
            Kind("an archive (ZIP, tar, 7-Zip, RAR)", _UNPACK, _UNPACK),
            rb"PK\x03\x04|7z\xbc\xaf|Rar!\x1a|.{257}ustar",
        ),
        (
            Kind("a compressed file", _UNPACK, _UNPACK),
            rb"\x1f[\x8b\x9d]|\x28\xb5\x2f\xfd|BZh|\xfd7zXZ|\x04\x22\x4d\x18|LZIP\x01",
        ),
        (
            Kind("PDF or PostScript", "save it as plain text (UTF-8) first, as with pdftotext"),
            rb"%PDF|%!PS",
        ),
        (Kind("a pointer of Git LFS", _FETCH, _FETCH), rb"version https://git-lfs\."),
        (_ENCODING, rb"\xff\xfe|(?:\0\0)?\xfe\xff"),
    )
]  # fmt: skip
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_MIN_CONTROLS = 32  # control characters: text may have a few
_MIN_FAULTS = 100  # bytes that are not UTF-8, so that one name of a short text does not count
_EXAMINED_BYTES = 4096
_HEADER = 64  # bytes, with at least four that no text has, one of which comes early


def _binary_kind(start: bytes) -> Kind | None:
    """Return the kind of a file that begins with these bytes, or None if it may be UTF-8 text."""
    start = start[:_EXAMINED_BYTES]
    for kind, signature in SIGNATURES:
        if signature.match(start):
            return kind
    if _is_utf_16(start[::2], start[1::2]) or _is_utf_16(start[1::2], start[::2]):
        return _ENCODING
    controls = len(_CONTROL.findall(start))
    header = start[:_HEADER]
    in_header = len(_CONTROL.findall(header)) + _faults(header[:-3])
    if (controls >= _MIN_CONTROLS and 20 * controls > len(start)) or (
        in_header > 3 and _CONTROL.search(start[:16])
    ):
        return _BINARY
    faults = _faults(start)
    return _ENCODING if faults >= _MIN_FAULTS and 4 * faults > len(start) else None


def _faults(start: bytes) -> int:
    """Return the number of bytes that are not UTF-8."""
    return sum("\udc80" <= each <= "\udcff" for each in start.decode("utf-8", "surrogateescape"))


def _is_utf_16(upper: bytes, lower: bytes) -> bool:
    """Return whether every ASCII character has a zero byte before or after it."""
    many = 10 * upper.count(0) > 9 * len(upper)
    return len(upper) > 3 and many and 10 * lower.count(0) < len(lower)


# A typed dependency: nsubj(sleeps-3, dog-2), words of empty nodes 3.1, copies 3'.
_DEPENDENCY = r"\w++(?::\w++)*+\(\S+?-\d++(?:\.\d++)?'*+, ?\S+?-\d++(?:\.\d++)?'*+\)"
_NUMBER = r"-?\d++(?:\.\d++)?(?:[eE][-+]?\d++)?"
_SCORE = rf"(?:{_NUMBER}|[-+]?(?i:nan|inf(?:inity)?))"
_UPOS = "ADJ|ADP|ADV|AUX|CCONJ|DET|INTJ|NOUN|NUM|PART|PRON|PROPN|PUNCT|SCONJ|SYM|VERB|X"
_TAG = (
    rf"{_UPOS}|AFX|CC|CD|DT|EX|FW|HYPH|IN|JJ[RS]?|LS|MD|NFP|NNP?S?|PDT|POS|PRP\$?|RB[RS]?|RP|TO|UH"
    r"|VB[DGNPZ]?|WDT|WP\$?|WRB|-[LR]RB-|[.,:#$]|``|''"
)
_CONLL = rf"\d++(?:[-.]\d++)?(?:(?:\t[^\t]*+){{7,}}| +\S++ +\S++ +(?:{_UPOS}|_) +\S++ +\S++ +[\d_])"
_CELLS = r"\S++(?:[ \t]++\S++)"
_NODE = r"[(\[!?]*+(?:/\S*?/\w*+|[@_A-Z*][\w|^$*=~#%-]*+)[)\]]*+"
_RELATION = r"(?:<<?|>>?|\$)[-+,:.`$#%\d]*+"
_TIME = r"(?:(?:\d++:)?\d\d:\d\d[.,]\d{3} --> |\d++:\d\d:\d\d\.\d{3},\d++:\d\d:\d\d\.\d{3}$)"
_SQUARE = r"(?:\\Tree\s*+)?\[\.?[A-Z][\w$|-]*+"
_NAMED = r"(?:- +)*+[a-z_][\w.-]*+:(?: |$)"
_SECTION = r"\[\[?[A-Za-z][\w .\":/-]*\]\]?$"
_VALUE = r"[\w.-]++ *+= *+\S"

TABLE = Kind(
    "a table (TSV, CSV, a word and its tag on each line)",
    f"take its column of sentences (cut -f2 FILE), or {_WORDS}",
)
TAGGED = Kind("words with tags (word/TAG)", "take the tags off its words")

# The first match counts: a format whose trees are read comes before the kind that it is of, and
# formats of the field come before those with little more than columns.
KINDS: tuple[tuple[Kind, tuple[Recognise, ...]], ...] = (
    (
        Kind("n-best lists in JSON", "rank them with rerank --nbest FILE",
             "with one object per line, rerank convert FILE --to trees takes the first of each"),
        (within(is_json, r'"(?:candidates|ranking)"\s*:\s*\['),),
    ),
    (
        Kind("CoreNLP's JSON", _AS_TEXT, _TO_BRACKETS, "corenlp_json"),
        (within(is_json, r'"(?:basic|collapsed-|enhanced\w*)[dD]ependencies"'
                         r'|"sentences"\s*:\s*\[\s*\{\s*"index"'),),
    ),
    (
        Kind("JSON", "take the text out of it first",
             "format jsonl has one object per line, with 'candidates'"),
        (is_json,),
    ),
    (
        Kind("CoreNLP's XML", _UNTAGGED, _TO_BRACKETS, "corenlp_xml"),
        (within(is_markup, r"<sentences>|CoreNLP-to-HTML|<(?:basic-)?dependencies\b"),),
    ),
    (
        Kind("TigerXML", _WORDS, _TO_BRACKETS, "tigerxml"),
        (within(is_markup, r"<(?:nt|terminals|graph root)\b"),),
    ),
    (Kind("HTML or XML", _UNTAGGED), (is_markup,)),
    (
        Kind("CoNLL-2012 columns", _WORDS, "OntoNotes' .parse files have its trees in brackets",
             "conll2012"),
        (begins("#begin document"), rows(
            r"#(?:begin|end) document\b|\S++\s++\d++\s++\d++\s++\S++\s++\S++\s++\S*\*",
            mark=r"#begin document \(|\S++\s++\d++\s++\d++\s++\S++\s++\S++\s++\S*\*")),
    ),
    (
        Kind("CoNLL-U with trees", _WORDS, _TO_BRACKETS, "conllu"),
        (rows(rf"{_CONLL}|#", mark=r"# constituency = "),),
    ),
    (
        Kind("the NEGRA export format", _WORDS, _TO_BRACKETS, "export"),
        (begins(r"(?:%%[^\n]*+\n\s*+)*+#(?:(?:FORMAT|BOS) +\d|BOS +\S[^\n]*+\n"
                r"\S++(?:[ \t]++\S++){3,5}?[ \t]++\d++(?:\s|$))"), rows(
            r"#(?:FORMAT|BO[ST]|EO[ST]|\d{3}\b)|%%|\S++(?:\s++\S++){3,5}?\s++\d++(?:\s|$)",
            mark=r"#(?:FORMAT|BOS)\s+\d|#[BE]OT\s+[A-Z]+$")),
    ),
    (
        Kind("annotation in columns (CoNLL, brat)", f"take its `# text` lines, or {_WORDS}"),
        (
            rows(rf"{_CONLL}|#", mark=_CONLL),
            rows(rf"{_CELLS}+?[ \t]++(?:\([A-Z][\w-]*)?\*\)*$",  # CoNLL-2005
                 mark=rf"{_CELLS}+?[ \t]++\([A-Z][\w-]*\*"),
            rows(r"T\d++\t\S++ \d++ \d|[REAMN]\d++\t\S|\*\t|#\d++\t", mark=r"T\d++\t\S++ \d++ \d"),
            rows(r"\S++ \d++ \d++ \S++ .*?\d++:\d++(?:[*,;]\d++:\d++)*+-[A-Za-z]"),  # PropBank
        ),
    ),
    (
        Kind("trees or graphs in another notation", _WORDS, _TO_BRACKETS),
        (
            rows(r"\(.*?[ (]\d++=[^\s()]++\)|(?:[ )]*+\([^\s()]++(?: ++\d++)*+)++[ )]*+\t\S"
                 r"|#?\d++:\d++\.\[\d++\]|.*?[(|][Hh]ead:[A-Z]\w*+[:(]"  # the Sinica Treebank
                 r"|ID=\S++ PARSER=|\(<[TL] "  # CCGbank
                 rf"|{_DEPENDENCY}(?:\s*[;,]?\s*{_DEPENDENCY})*+\s*$"
                 rf"|{_NODE} !?{_RELATION}(?: (?:!?{_RELATION}|{_NODE}|[&|]))*+$"),  # patterns
            # CGEL trees, AMR graphs
            rows(r"# \w++ ?=|\(+(?:\w++ / )?[A-Z][\w+/.-]*+(?:\s|$)|:[A-Z][\w-]*+(?:\s|$)|:\w++ \"",
                 mark=r"(?:\([A-Z][\w+/.-]*+ )?:[A-Z][\w-]*+ \((?:\w++ / )?[A-Z]"),
            rows(r"#|\(\s*+\w++\s*/\s*+[\w\"-]|:[A-Za-z][\w-]*+[\s(]",
                 mark=r"# ::\w|\(\s*+\w++\s*/\s*+[\w\"-]++(?:\s*\)*$|\s+:[A-Za-z])"),
            rows("", mark=r"(?:Plain|Treebanked) sentence:$"),  # OntoNotes
            rows(r'"<.+>"|;?\s*"[^"]+"\s', mark=r'"<\S+>"'),  # Constraint Grammar
            begins(r"\[ (?:LTOP|TOP): h\d"),  # MRS
            rows(rf"{_SQUARE}\s|[\[\]\\]", mark=rf"{_SQUARE}\s++\[\.?[A-Z]"),
        ),
    ),
    (
        TABLE,
        (
            rows(r"\d++@(?:[^@]*+@){2,}", share=0.9),  # [incr tsdb()]
            rows(rf"-DOCSTART-|{_CELLS}{{0,4}}?[ \t]++(?:O|[BIESLU]-[A-Za-z]\S*)$",
                 mark=rf"{_CELLS}{{0,4}}?[ \t]++[BIESLU]-[A-Za-z]\S*$"),
        ),
    ),
    (TAGGED, (is_tagged,)),
    (
        TABLE,
        (
            rows(rf"\S++ (?:{_TAG})(?: \S++)?$|#", mark=rf"\S*[a-z]\S* (?:{_TAG})(?: \S++)?$",
                 share=0.9, least=4),
            rows(rf"\S++(?: {_NUMBER}){{8,}}", share=0.9),  # word vectors
            rows(rf"\d++ \|\|\| (?:.*? \|\|\| \S+= ?-?\d|[^(|]*+\|\|\| {_NUMBER}$)"),  # Moses
        ),
    ),
    (
        Kind("encoded or quoted mail, subtitles or a transcript",
             "take the text out of its lines, decoded with Python's quopri"),
        (
            is_encoded,
            rows(">(?: |>|$)", mark="> "),
            rows(rf"\d++$|{_TIME}", mark=_TIME, share=0.3),
            rows(r"[@*%]\w", mark=r"@(?:UTF8|Begin)\b"),  # CHAT
            begins(r'\[Script Info\]|File type = "ooTextFile'),
        ),
    ),
    (
        Kind("LaTeX, settings or program code", "take the text out of it first, as with detex"),
        (
            begins(r"(?:%[^\n]*+\n\s*+)*+\\(?:document(?:class|style)|usepackage|(?:begin|section)\{"
                   r"|data\\)|@[A-Za-z]++\{[^\s,]++,\s|#!\s*/"),
            within(rows(rf"{_NAMED}|- \S++$|%YAML|---|#", share=0.8, least=3),
                   r"(?m:\A\s*+(?:%YAML|---)|:[^\S\n]*+\n"
                   rf"(?:\s*+- \S++$|(?:[^\S\n]*+\n)*+(?:[ \t]+{_NAMED}|- {_NAMED})))"),
            within(rows(rf"{_SECTION}|{_VALUE}|[\"'].*[\"'],?$|\]$|[#;]", mark=_SECTION, share=0.9),
                   rf"(?m:^[^\S\n]*+{_VALUE}.*\n\s*+{_VALUE}"
                   rf"|(?:\A|^[#;].*\n)\s*+{_SECTION}\n\s*+{_VALUE})"),
            rows(r"(?:def|class|if|elif|else|for|while|with|try|except|return|raise|import|from"
                 r"|yield|@)\b|[\w.]+ [-+*/|]?= |//|/?\*|#|.*[;{}()\[\],]$",
                 mark=r"#include [<\"]|import \w[\w.]*(?: as \w+)?;?$|from [\w.]+ import \w"
                      r"|def \w+\(.*:$|(?:package|using|use) [\w.:]+;"
                      r"|(?:public|private|static) .*[{;]$|function \w*\(.*\{$",
                 share=0.8),
        ),
    ),
    (
        Kind("trees beside other columns", "take its column of sentences alone: cut -f1 FILE",
             "take its column of trees alone: cut -f2 FILE"),
        (has_trees_beside,),
    ),
    (TABLE, (is_table,)),
)  # fmt: skip
_LISTS = Kind("n-best lists", "", "rerank convert FILE --to trees takes the first tree of each")
_begins_lists = begins(
    rf"[0-9]{{1,9}}[\t ][^\n(]*\n|{_SCORE}\s+(?:{_SCORE})?\s*\(|[0-9]++ \|\|\| "
    r"|# Parse 1 with score "
)
_is_fairseq = rows(r"[SHDTP]-[0-9]++\t", mark=r"H-[0-9]++\t")


def kind_of(text: str, is_first: bool = True) -> Kind | None:
    """Return the kind of a file with this beginning, or, unless ``is_first``, with this later part;
    None if it may be text or trees in brackets. Only the first ``LONGEST_START`` characters
    count."""
    text = text[:LONGEST_START].removeprefix("\ufeff")
    if is_first and (kind := _binary_kind(text.encode("utf-8", "surrogateescape"))):
        return kind
    sample = FileSample(text, is_first)
    return next((kind for kind, shapes in KINDS if any(each(sample) for each in shapes)), None)


def is_treebank(kind: Kind | None) -> bool:
    """Return whether the trees of files of this kind can be read."""
    return kind is not None and kind.treebank != "" and registry.has("treebanks", kind.treebank)


def refuse_other_than_trees(name: str, text: str) -> None:
    """Raise KindError if a file with this beginning holds no trees that can be read, one per
    sentence."""
    kind = kind_of(text)
    if is_treebank(kind):
        return
    sample = FileSample(text)
    if _is_fairseq(sample) or (kind is None and sample.has_trees and _begins_lists(sample)):
        kind = _LISTS
    if kind:
        raise KindError(f"{name}: not trees: looks like {kind.described('trees')}")
