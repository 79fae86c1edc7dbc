"""The kinds of files that are neither text nor trees in brackets: the table of their names, the
advice to a user, and their recognition from the beginning of a file. Every reader calls
``kind_of``."""

from __future__ import annotations

from reranker import registry
from reranker.errors import KindError
from reranker.files.kinds.magic import binary_kind
from reranker.files.kinds.shapes import (
    are_vertical,
    has_entities,
    has_trees_beside,
    is_code,
    is_ini,
    is_json,
    is_markup,
    is_quoted_printable,
    is_table,
    is_tagged,
    is_yaml,
)
from reranker.files.kinds.start import Kind, Recognise, Start, begins, either, rows, within

LONGEST_START = 1 << 16
"""The characters examined to recognise a file."""

_WORDS = "write its words, one sentence a line with a space between them"
_TEXTS = f"take its `# text` lines, or {_WORDS}"
_XML = "take the text out of its tags"
_JSON = "take the text out of it first"
_CORENLP = "let CoreNLP write -outputFormat text, whose trees `rerank --nbest` reads"
_TO_BRACKETS = "convert its trees to brackets first, with discodop or treetools"
_NO_TREES = "it has no trees in brackets"
_COLUMN = "take its column of sentences"
_NUMBER = r"-?\d++(?:\.\d++)?(?:[eE][-+]?\d++)?"
_SCORE = rf"(?:{_NUMBER}|[-+]?(?i:nan|inf(?:inity)?))"
_UPOS = "ADJ|ADP|ADV|AUX|CCONJ|DET|INTJ|NOUN|NUM|PART|PRON|PROPN|PUNCT|SCONJ|SYM|VERB|X|_"
_CONLL = rf"\d++(?:[-.]\d++)?(?:(?:\t[^\t]*+){{7,}}| +\S++ +\S++ +(?:{_UPOS}) +\S++ +\S++ +[\d_])"
_NODE = r"[(\[!?]*+(?:/\S*?/\w*+|[@_A-Z*][\w|^$*=~#%-]*+)[)\]]*+"
_RELATION = r"(?:<<?|>>?|\$)[-+,:.`$#%\d]*+"
_TIME = r"(?:(?:\d++:)?\d\d:\d\d[.,]\d{3} --> |\d++:\d\d:\d\d\.\d{3},\d++:\d\d:\d\d\.\d{3}$)"
_SQUARE = r"(?:\\Tree\s*+)?\[\.?[A-Z][\w$|-]*+"

CHUNKS = Kind("chunks or names in columns (CoNLL-2000, CoNLL-2003)", _WORDS, _NO_TREES)
TAGGED = Kind(
    "words with tags (word/TAG)", "take the tags off its words", "it has tags, but no trees"
)
TABS = Kind("a table with tabs (TSV)", f"{_COLUMN}: cut -f2 FILE", _NO_TREES)

# The first match counts: formats of the field come before those with little more than columns.
KINDS: tuple[tuple[Kind, Recognise], ...] = (
    # JSON and XML
    (
        Kind("n-best lists in JSON", "rank them with rerank --nbest FILE",
             "with one object a line, rerank convert FILE --to trees takes the first of each"),
        within(is_json, r'"(?:candidates|ranking)"\s*:\s*\['),
    ),
    (
        Kind("CoreNLP's JSON", _JSON, _CORENLP, "corenlp_json"),
        within(is_json, r'"(?:basic|collapsed-|enhanced\w*)[dD]ependencies"|"sentences"\s*:\s*\[\s*'
                        r'\{\s*"index"'),
    ),
    (
        Kind("SyntaxGym's JSON", "write its conditions as sentences, one a line", _NO_TREES),
        within(is_json, r'"(?:region_meta|condition_name|region_number)"'),
    ),
    (Kind("JSON", _JSON, "format jsonl has one object a line, with 'candidates'"), is_json),
    (
        Kind("CoreNLP's XML", _XML, _CORENLP, "corenlp_xml"),
        within(is_markup, r"<sentences>|CoreNLP-to-HTML|<(?:basic-)?dependencies\b"),
    ),
    (
        Kind("TigerXML", _WORDS, _TO_BRACKETS, "tigerxml"),
        within(is_markup, r"<(?:nt|terminals|graph root)\b"),
    ),
    (Kind("TEI XML", _XML, _NO_TREES), within(is_markup, r"<(?:TEI|teiHeader|teiCorpus)\b")),
    (Kind("GraphML", _NO_TREES), within(is_markup, r"<graphml\b")),
    (
        Kind("HTML", "take its text out of it first, with html2text or a browser", _NO_TREES),
        within(is_markup, r"(?i)\A\s*(?:<\?xml[^>]*>\s*)?(?:<!--[^>]*>\s*)?"
                          r"<(?:!doctype html|html|head|body|div|p|table|span|ul|h[1-6])\b"),
    ),
    (Kind("XML", _XML, _NO_TREES), is_markup),
    # Treebanks that have no Penn trees
    (
        Kind("CoNLL-2012 columns", _WORDS, "OntoNotes' .parse files have its trees in brackets",
             "conll2012"),
        either(begins("#begin document"), rows(
            r"#(?:begin|end) document\b|\S++\s++\d++\s++\d++\s++\S++\s++\S++\s++\S*\*",
            mark=r"#begin document \(|\S++\s++\d++\s++\d++\s++\S++\s++\S++\s++\S*\*")),
    ),
    (
        Kind("CoNLL-U with trees", _TEXTS, treebank="conllu"),
        rows(rf"{_CONLL}|#", mark=r"# constituency = "),
    ),
    (
        Kind("CoNLL columns (CoNLL-U, CoNLL-X)", _TEXTS,
             "their dependencies are not constituency trees"),
        rows(rf"{_CONLL}|#", mark=_CONLL),
    ),
    (
        Kind("the NEGRA export format", _WORDS, _TO_BRACKETS, "export"),
        either(begins(r"(?:%%[^\n]*+\n\s*+)*+#(?:FORMAT|BOS) +\d"), rows(
            r"#(?:FORMAT|BO[ST]|EO[ST]|\d{3}\b)|%%|\S++(?:\s++\S++){3,5}?\s++\d++(?:\s|$)",
            mark=r"#(?:FORMAT|BOS)\s+\d")),
    ),
    (
        Kind("discbracket trees", _WORDS, _TO_BRACKETS),
        rows(r"\(.*?[ (]\d++=[^\s()]++\)|"
             r"(?:[ )]*+\([^\s()]++(?: ++\d++)*+)++[ )]*+\t\S"),
    ),
    (
        Kind("CGEL trees", _TEXTS, "they have functions between their brackets"),
        rows(r"# \w++ ?=|\(+(?:\w++ / )?[A-Z][\w+/.-]*+(?:\s|$)|:[A-Z][\w-]*+(?:\s|$)|:\w++ \"",
             mark=r"(?:\([A-Z][\w+/.-]*+ )?:[A-Z][\w-]*+ \((?:\w++ / )?[A-Z]"),
    ),
    (
        Kind("AMR (PENMAN) graphs", "take its `# ::snt` lines", "they are no constituency trees"),
        rows(r"#|\(\s*+\w++\s*/\s*+[\w\"-]|:[A-Za-z][\w-]*+[\s(]",
             mark=r"# ::\w|\(\s*+\w++\s*/\s*+[\w\"-]++(?:\s*\)*$|\s+:[A-Za-z])"),
    ),
    (
        Kind("the Sinica Treebank's format", "nltk.corpus.sinica_treebank reads its words",
             "nltk.corpus.sinica_treebank converts its trees"),
        rows(r"#?\d++:\d++\.\[\d++\]|.*?[(|][Hh]ead:[A-Z]\w*+[:(]"),
    ),
    (
        Kind("CCGbank derivations", _WORDS, "their categories are not constituents of Penn trees"),
        rows(r"ID=\S++ PARSER=|\(<[TL] ", mark=r"ID=\S++ PARSER=|\(<[TL] "),
    ),
    (
        Kind("PropBank or NomBank annotation", "its sentences are in the treebank that it names",
             "its trees are in the treebank that it names"),
        rows(r"\S++ \d++ \d++ \S++ .*?\d++:\d++(?:[*,;]\d++:\d++)*+-[A-Za-z]"),
    ),
    (
        Kind("OntoNotes' normal form (.onf)", "take its plain sentences",
             "OntoNotes' .parse files have its trees"),
        rows("", mark=r"(?:Plain|Treebanked) sentence:$"),
    ),
    (
        Kind("typed dependencies", _WORDS, "they are not constituency trees"),
        rows(r"\w++(?::\w++)*+\(\S+-\d++'*+, ?\S+-\d++'*+\)$"),
    ),
    (
        Kind("Constraint Grammar's format", _WORDS, _NO_TREES),
        rows(r'"<.+>"|;?\s*"[^"]+"\s', mark=r'"<\S+>"'),
    ),
    (Kind("MRS", "", "it is no constituency tree"), begins(r"\[ (?:LTOP|TOP): h\d")),
    (
        Kind("a table of [incr tsdb()]", _COLUMN, _NO_TREES),
        rows(r"\d++@(?:[^@]*+@){2,}", share=0.9),
    ),
    (
        CHUNKS,
        rows(r"-DOCSTART-|\S++[ \t]++(?:\S++[ \t]++){0,4}?(?:O|[BIESLU]-[A-Za-z]\S*)$",
             mark=r"\S++[ \t]++(?:\S++[ \t]++){0,4}?[BIESLU]-[A-Za-z]\S*$"),
    ),
    (
        Kind("arguments in columns (CoNLL-2005)", _WORDS, _NO_TREES),
        rows(r"\S++(?:[ \t]++\S++)+?[ \t]++(?:\([A-Z][\w-]*)?\*\)*$",
             mark=r"\S++(?:[ \t]++\S++)+?[ \t]++\([A-Z][\w-]*\*"),
    ),
    (
        Kind("brat annotation", "its text is in the .txt file beside it", _NO_TREES),
        rows(r"T\d++\t\S++ \d++ \d|[REAMN]\d++\t\S|\*\t|#\d++\t", mark=r"T\d++\t\S++ \d++ \d"),
    ),
    (TAGGED, is_tagged),
    (Kind("a word and its tag on each line", _WORDS, _NO_TREES), are_vertical),
    (
        Kind("patterns of trees (Tregex, TGrep)", "rerank grep --patterns takes them", _NO_TREES),
        rows(rf"{_NODE} !?{_RELATION}(?: (?:!?{_RELATION}|{_NODE}|[&|]))*+$"),
    ),
    (
        Kind("trees in square brackets", _WORDS, "write round brackets, (S (NP It) ...)"),
        rows(rf"{_SQUARE}\s|[\[\]\\]", mark=rf"{_SQUARE}\s++\[\.?[A-Z]"),
    ),
    # Speech and films
    (
        Kind("subtitles", "take out their numbers and times", _NO_TREES),
        rows(rf"\d++$|{_TIME}", mark=_TIME, share=0.3),
    ),
    (Kind("subtitles", "take out their times and styles", _NO_TREES), begins(r"\[Script Info\]")),
    (
        Kind("a transcript in CHAT format", "take the utterances out of its lines", _NO_TREES),
        rows(r"[@*%]\w", mark=r"@(?:UTF8|Begin)\b"),
    ),
    (Kind("a Praat TextGrid", "", _NO_TREES), begins(r'File type = "ooTextFile')),
    # Documents, settings, code
    (
        Kind("quoted-printable e-mail", "decode it first: python -m quopri -d FILE", _NO_TREES),
        is_quoted_printable,
    ),
    (
        Kind("text with HTML's entities (&amp;)", "decode them first, with html.unescape of Python",
             _NO_TREES),
        has_entities,
    ),
    (
        Kind("quoted e-mail", "take the > off its lines: sed 's/^[> ]*//' FILE", _NO_TREES),
        rows(">(?: |>|$)", mark="> "),
    ),
    (Kind("RTF", "take its text out of it first", _NO_TREES), begins(r"\{\\rtf")),
    (
        Kind("LaTeX", "take its text out of it first, with detex or pandoc", _NO_TREES),
        begins(r"(?:%[^\n]*+\n\s*+)*+\\(?:documentclass|documentstyle|usepackage|begin\{|section\{)"),
    ),
    (Kind("BibTeX", "", _NO_TREES), begins(r"@[A-Za-z]++\{[^\s,]++,\s")),
    (
        Kind("a pointer of Git LFS", "fetch the file with git lfs pull"),
        begins(r"version https://git-lfs\.github\.com/spec"),
    ),
    (Kind("word vectors", "", _NO_TREES), rows(rf"\S++(?: {_NUMBER}){{8,}}", share=0.9)),
    (Kind("an n-gram model (ARPA)", "", _NO_TREES), begins(r"\\data\\")),
    (
        Kind("an n-best list of translations", "take the outputs out of its columns", _NO_TREES),
        rows(rf"\d++ \|\|\| (?:.*? \|\|\| \S+= ?-?\d|[^(|]*+\|\|\| {_NUMBER}$)"),
    ),
    (Kind("YAML", "take the text out of it first", _NO_TREES), is_yaml),
    (Kind("TOML or INI settings", "", _NO_TREES), is_ini),
    (Kind("program code", "", _NO_TREES), is_code),
    # Tables
    (
        Kind("trees beside other columns", f"{_COLUMN} alone: cut -f1 FILE",
             "take its column of trees alone: cut -f2 FILE"),
        has_trees_beside,
    ),
    (TABS, is_table("\t")),
    (Kind("a table with commas (CSV)", _COLUMN, _NO_TREES), is_table(",")),
    (Kind("a table with semicolons (CSV)", _COLUMN, _NO_TREES), is_table(";")),
    (Kind("a table with | between its columns", _COLUMN, _NO_TREES), is_table("|")),
)  # fmt: skip
_LISTS = Kind("n-best lists", trees="rerank convert FILE --to trees takes the first tree of each")
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
    if is_first and (kind := binary_kind(text.encode("utf-8", "surrogateescape"))):
        return kind
    start = Start(text, is_first)
    return next((kind for kind, recognise in KINDS if recognise(start)), None)


def is_treebank(kind: Kind | None) -> bool:
    """Return whether the trees of files of this kind can be read."""
    return kind is not None and kind.treebank in registry.ours("treebanks")


def refuse_other_than_trees(name: str, text: str) -> None:
    """Raise KindError if a file with this beginning holds no trees that can be read, one a
    sentence."""
    kind = kind_of(text)
    if is_treebank(kind):
        return
    start = Start(text)
    if _is_fairseq(start) or (kind is None and start.has_trees and _begins_lists(start)):
        kind = _LISTS
    if kind:
        raise KindError(f"{name}: not trees: looks like {kind.described('trees')}")
