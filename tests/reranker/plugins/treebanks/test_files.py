"""Treebanks that are not in brackets: read, written, and what is wrong with them."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from reranker.commands.main import main
from reranker.errors import TreeError
from reranker.files.encoding import encoding
from reranker.files.kinds import kind_of
from reranker.plugins.treebanks import conll2012, conllu, export, tigerxml
from reranker.plugins.treebanks.graph import Graphs, Row
from reranker.plugins.treebanks.xml_events import events
from reranker.trees.tree import Tree
from reranker.trees.treebank import read_texts, read_treebank
from tests.checkout import ROOT
from tests.program import rerank
from tests.reranker.repetitions import cpu_seconds, repeated
from tests.reranker.small_files import bllip, write

Capture = pytest.CaptureFixture[str]
WRITERS = {"export": export, "conll2012": conll2012, "conllu": conllu, "tigerxml": tigerxml}
TREES = """(TOP (S (NP-SBJ-1 (PRP It)) (VP (VBZ runs)) (. .)))
(ROOT (NP (NP (NN #5)) (PRN (-LRB- -LRB-) (X|Y (NN 50\\/50%)) (-RRB- -RRB-))))
(TOP (SINV (VP (VBD said)) (NP (NNP é\u00a0è))) (, ,) (FRAG (UH yes)))
(TOP (UH Yes))
"""
TIGER = """<?xml version="1.0" encoding="UTF-8"?>
<corpus><body>
<s id="s1">
<graph root="s1_500" discontinuous="true">
<terminals>
<t id="1" word="Davon" pos="PROAV" />
<t id="2" word="(" pos="$(" />
<t id="3" word="glaubt" pos="VVFIN" />
<t id="4" word="er" pos="PPER" />
<t id="5" word="nichts" pos="PIS" />
<t id="6" word="." pos="$." />
</terminals>
<nonterminals>
<nt id="500" cat="S"><edge label="HD" idref="3" /><edge label="SB" idref="4" />
<edge label="OA" idref="501" /></nt>
<nt id="501" cat="NP"><edge label="MO" idref="1" /><edge label="HD" idref="5" /></nt>
</nonterminals>
</graph>
</s>
<s id="s2"><graph><terminals><t id="1" word="Ja" pos="ITJ"></terminals></graph></s>
<s id="s3"><graph><terminals><t id="1" word="Nein" pos="ITJ"/></terminals></graph></s>
</body></corpus>
"""
# Davon belongs to NP and moves up to S; the bracket at the root stands within S.
ATTACHED = (
    "(TOP (S (PROAV Davon) ($*LRB* -LRB-) (VVFIN glaubt) (PPER er) (NP-OA (PIS nichts))) ($. .))"
)
EXPORT_3 = """%% a remark
#FORMAT 3
#BOT WORDTAG
1 Y ADV
#EOT WORDTAG
#BOS 1 0 1098266456 1 %% @SB2AV@
Davon\t\tPROAV\t--\tMO\t501
(\t\t$(\t--\t--\t0
glaubt\t\tVVFIN\t3.Sg\tHD\t500
er\t\tPPER\t3.Sg\tSB\t500 %% a remark
nichts\t\tPIS\t--\tHD\t501\tOA\t500
.\t\t$.\t--\t--\t0
#501\t\tNP\t--\tOA\t500
#500\t\tS\t--\t--\t0
#EOS 1
"""
CONLL = """#begin document (bc/x); part 000
bc/x   0   0   It    PRP  (TOP(S(NP*)   -   -   -   Speaker#1   *   (0)
bc/x   0   1   runs  VBZ      (VP*)   run  01   1   Speaker#1   *    -
bc/x   0   2   /.    .       *))    -   -   -   Speaker#1   *    -

bc/x   0   0   It    PRP  (TOP(NP*

bc/x   0   0   It    PRP

bc/x   0   0   (   -LRB-  (TOP*)  -  -  -  -  *  -
#end document
"""
JSON = r"""{"sentences": [{"index": 0,
"parse": "(ROOT\n  (S (NP (PRP It)) (VP (VBZ \"))))",
"tokens": [{"index": 1, "word": "\"parse\": \"(X x)\"", "pos": "parse"}]},
{"index": 1, "tokens": []},
{"index": 2, "parse": "(ROOT (UH No))", "tokens": []}
"""
XML = """<?xml version="1.0"?>
<root><document><sentences>
<sentence id="1"><parse>(ROOT (CC &amp;)) </parse></sentence>
<sentence id="2"><tokens/></sentence>
</sentences></document></root>
"""
CONLLU = """# sent_id = 1
# constituency = (ROOT (UH Yes))
1\tYes\tyes\tINTJ\tUH\t_\t0\troot\t_\t_

# sent_id = 2
1\tNo\tno\tINTJ\tUH\t_\t0\troot\t_\t_
"""


def texts_of(path: str) -> list[str]:
    """Return the trees of a file, and its faults with their lines."""
    lines = []
    for place in read_texts([path]):
        try:
            lines.append(place.tree().to_string())
        except TreeError as error:
            lines.append(f"{place.line}: {error.code}: {error}")
    return lines


@pytest.mark.parametrize("form", WRITERS)
def test_trees_come_back(form: str, tmp_path: Path, capsys: Capture) -> None:
    file = write(tmp_path / "t.mrg", TREES)
    assert main(["convert", file, "--to", form, "--out", str(tmp_path / "there")]) == 0
    there = str(tmp_path / "there")
    assert "".join(f"{tree.to_string()}\n" for tree in read_treebank([there])) == TREES
    assert main(["convert", there, "--to", "trees", "--clean"]) == 0
    clean = capsys.readouterr().out
    assert main(["convert", file, "--to", "trees", "--clean"]) == 0
    assert capsys.readouterr().out == clean


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("name", ["gum", "masc", "craft", "wsj_sample", "icon", "mctb_zh"])
def test_treebanks_come_back(name: str, form: str, tmp_path: Path) -> None:
    source = ROOT.parent / "shared" / "data" / "treebanks" / name / "dev.mrg.gz"
    if not source.is_file():
        pytest.skip(f"{source} is not there")
    with gzip.open(source, "rt", encoding="utf-8", newline="\n") as file:
        trees = [Tree.from_string(line) for line in file.read().split("\n")[:100]]
    writer = WRITERS[form]
    text = "".join(writer.write(tree, place) for place, tree in enumerate(trees))
    there = write(tmp_path / "there", f"{writer.START}{text}{writer.END}")
    assert [tree.to_string() for tree in read_treebank([there])] == [
        tree.to_string() for tree in trees
    ]


def test_what_is_written(capsys: Capture, tmp_path: Path) -> None:
    tree = Tree.from_string("(TOP (S (NP-SBJ (PRP It)) (VP (VBZ runs))))")
    assert export.START + export.write(tree, 0) == (
        "#FORMAT 4\n#BOS 1 0 0 0\nIt\t--\tPRP\t--\t--\t501\nruns\t--\tVBZ\t--\t--\t500\n"
        "#500\t--\tVP\t--\t--\t502\n#501\t--\tNP\t--\tSBJ\t502\n#502\t--\tS\t--\t--\t0\n#EOS 1\n"
    )
    assert conll2012.START + conll2012.write(tree, 0) + conll2012.END == (
        "#begin document (trees); part 000\n"
        "trees\t0\t0\tIt\tPRP\t(TOP(S(NP-SBJ*)\t-\t-\t-\t-\t*\t-\n"
        "trees\t0\t1\truns\tVBZ\t(VP*)))\t-\t-\t-\t-\t*\t-\n\n#end document\n"
    )
    assert tigerxml.write(tree, 0) == (
        '<s id="s1">\n<graph root="s1_500">\n<terminals>\n<t id="s1_1" word="It" pos="PRP"/>\n'
        '<t id="s1_2" word="runs" pos="VBZ"/>\n</terminals>\n<nonterminals>\n'
        '<nt id="s1_500" cat="S">\n<edge label="SBJ" idref="s1_501"/>\n'
        '<edge label="--" idref="s1_502"/>\n</nt>\n'
        '<nt id="s1_501" cat="NP">\n<edge label="--" idref="s1_1"/>\n</nt>\n'
        '<nt id="s1_502" cat="VP">\n<edge label="--" idref="s1_2"/>\n</nt>\n'
        "</nonterminals>\n</graph>\n</s>\n"
    )
    file = write(tmp_path / "t.mrg", "(TOP (NN #500))\n(TOP (UH Yes))\n")
    assert main(["convert", file, "--to", "export", "--clean"]) == 1
    printed = capsys.readouterr()
    assert "t.mrg:1: tree rejected, not-a-tree: the word #500 means something" in printed.err
    assert printed.out.startswith("#FORMAT 4\n#BOS 1 0 0 0\nYes")
    assert main(["convert", file, "--to", "export"]) == 1
    assert "t.mrg:1: not written: the word #500" in capsys.readouterr().err


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("word", ["\u00a0", "\u00a010\u00a0000", "\u2028", "a\u3000"])
def test_words_of_other_spaces(word: str, form: str, tmp_path: Path) -> None:
    tree, writer = f"(TOP (S (CD {word}) (. .)))", WRITERS[form]
    text = writer.write(Tree.from_string(tree), 0)
    assert texts_of(write(tmp_path / "there", f"{writer.START}{text}{writer.END}")) == [tree]


@pytest.mark.parametrize("form", ["export", "conll2012", "tigerxml"])
def test_backslashes_before_brackets(form: str, tmp_path: Path) -> None:
    r"""A bracket that a backslash keeps in its word is written -LRB-, without the backslash."""
    writer = WRITERS[form]
    text = writer.write(Tree.from_string(r"(TOP (S (SYM f\(x\)) (SYM a\b)))"), 0)
    there = write(tmp_path / "there", f"{writer.START}{text}{writer.END}")
    assert texts_of(there) == [r"(TOP (S (SYM f-LRB-x-RRB-) (SYM a\b)))"]


@pytest.mark.parametrize(
    ("form", "tree", "reason"),
    [
        ("conll2012", "(TOP (S (- a)))", "the tag - of a means no tag in this format"),
        ("export", "(TOP (S (-- a)))", "the tag -- means no tag in this format"),
        ("tigerxml", "(TOP (S (-- a)))", "the tag -- means no tag in this format"),
        ("export", "(TOP (S ( (NN a))))", "a bracket without a label"),
        ("tigerxml", "(TOP (S ( (NN a))))", "a bracket without a label"),
    ],
)
def test_what_no_reader_would_understand(form: str, tree: str, reason: str) -> None:
    with pytest.raises(TreeError, match=f"^{reason}$"):
        WRITERS[form].write(Tree.from_string(tree), 0)


@pytest.mark.parametrize("text", [TIGER, EXPORT_3, CONLL], ids=["tiger", "export", "conll2012"])
def test_columns_show_no_notation(text: str, tmp_path: Path, capsys: Capture) -> None:
    main(["validate", write(tmp_path / "t", text)])
    assert "format trees\n" in capsys.readouterr().out


def test_what_tigerxml_can_hold(tmp_path: Path) -> None:
    """Names of words and constituents differ in any sentence; XML has no control characters."""
    long = Tree("TOP", (Tree("S", tuple(Tree("NN", (f"w{n}",)) for n in range(600))),))
    odd = Tree.from_string("(TOP (ROOT (X<Y (NN \"&'))))")
    text = f"{tigerxml.START}{tigerxml.write(long, 0)}{tigerxml.write(odd, 1)}{tigerxml.END}"
    there = write(tmp_path / "t.xml", text)
    assert [*read_treebank([there])] == [long, odd]
    with pytest.raises(TreeError, match=r"'\\x01' cannot be written in XML"):
        tigerxml.write(Tree("TOP", (Tree("NN", ("a\x01",)),)), 0)


def test_between_formats(tmp_path: Path, capsys: Capture) -> None:
    """Discontinuous constituents are attached higher once; what is written then comes back."""
    file, there = write(tmp_path / "t.export", EXPORT_3), str(tmp_path / "there.xml")
    assert main(["convert", file, "--to", "tigerxml", "--out", there]) == 0
    for path, form in ((there, "export"), (file, "export")):
        assert main(["convert", path, "--to", form]) == 0
    once, twice = capsys.readouterr().out.split("#FORMAT 4\n")[1:]
    assert once == twice


@pytest.mark.parametrize("text", [TIGER, EXPORT_3], ids=["tiger", "export"])
def test_discontinuous_constituents_are_attached_higher(
    text: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = write(tmp_path / "t", text)
    count = 2 if text == TIGER else 1
    assert texts_of(file)[0] == ATTACHED
    assert f"t: 1 of {count} trees have discontinuous constituents" in caplog.text


def test_broken_sentences_are_named_and_the_others_read(tmp_path: Path) -> None:
    assert texts_of(write(tmp_path / "t.xml", TIGER))[1:] == [
        "20: not-a-tree: not XML: line 20: mismatched tag",
        "(TOP (ITJ Nein))",
    ]
    rows = EXPORT_3.replace("\tOA\t500\n#5", "\tOA\t777\n#5") + "#BOS 2\nJa\tITJ\t--\t--\tx\n"
    assert texts_of(write(tmp_path / "t.export", rows)) == [
        "6: not-a-tree: a parent that does not exist: 777",
        "16: not-a-tree: no #EOS up to the end of the file",
    ]
    rows = EXPORT_3.replace("S\t--\t--\t0", "S\t--\t--\t501")
    assert texts_of(write(tmp_path / "t.export", rows)) == [
        "6: not-a-tree: constituent 501 is within itself"
    ]
    rows = EXPORT_3.replace("HD\t500", "HD\tx")
    assert texts_of(write(tmp_path / "t.export", rows)) == [
        "6: not-a-tree: line 9: no parent in column 5"
    ]
    assert texts_of(write(tmp_path / "t.conll", CONLL)) == [
        "(TOP (S (NP (PRP It)) (VP (VBZ runs)) (. /.)))",
        "6: unbalanced: 2 bracket(s) left open at the end",
        "8: not-a-tree: line 8: no parse bit in column 6",
        "(TOP (-LRB- -LRB-))",
    ]
    assert texts_of(write(tmp_path / "t.json", JSON)) == [
        '(ROOT (S (NP (PRP It)) (VP (VBZ "))))',
        "4: empty: a sentence without a tree ('parse')",
        "(ROOT (UH No))",
        "5: truncated: the file ends within its JSON",
    ]
    assert texts_of(write(tmp_path / "t.json", JSON + "]}"))[-1] == "(ROOT (UH No))"
    assert texts_of(write(tmp_path / "t.xml", XML)) == [
        "(ROOT (CC &))",
        "4: empty: a sentence without a tree (<parse>)",
    ]
    assert texts_of(write(tmp_path / "t.conllu", CONLLU)) == [
        "(ROOT (UH Yes))",
        "6: empty: a sentence without # constituency",
    ]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("UTF-8", ""),
        ("utf8", ""),
        ("UT8", "unknown encoding: UT8"),
        ("big5", "multi-byte encodings are not supported"),
    ],
)
def test_encodings_of_xml(
    name: str, problem: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A fault before the first sentence is no sentence."""
    text = TIGER.replace("UTF-8", name).replace("nichts", "nichtß")
    file = write(tmp_path / "t.xml", text)
    found = texts_of(file)
    assert found[0] == ATTACHED.replace("nichts", "nichtß") and len(found) == 3
    fault = f"{file}:1: line 1: an encoding that is not known: {problem}"
    assert (fault in caplog.messages) == bool(problem)


@pytest.mark.parametrize("name", ["ISO-8859-1", "iso8859-15", "windows-1252", "UTF-8"])
def test_an_encoding_holds_after_a_broken_sentence(name: str, tmp_path: Path) -> None:
    text = TIGER.replace("UTF-8", name).replace("Nein", "Nö").replace("nichts", "nichtß")
    found = texts_of(write(tmp_path / "t.xml", text.encode(name)))
    assert found == [
        ATTACHED.replace("nichts", "nichtß"),
        "20: not-a-tree: not XML: line 20: mismatched tag",
        "(TOP (ITJ Nö))",
    ]


@pytest.mark.parametrize("declared", ["ISO-8859-1", "UTF-8", "UTF-16", "big5", "klingon"])
@pytest.mark.parametrize("told", ["latin-1", "cp1250", "utf-8", "utf-16", "mac-roman"])
def test_the_encoding_that_is_told_holds_whatever_a_file_declares(
    told: str, declared: str, tmp_path: Path
) -> None:
    text = TIGER.replace("UTF-8", declared).replace("Nein", "Nö").replace("nichts", "nichtß")
    file = write(tmp_path / "t.xml", text.encode(told))
    with encoding(told):
        found = texts_of(file)
    assert found == [
        ATTACHED.replace("nichts", "nichtß"),
        "20: not-a-tree: not XML: line 20: mismatched tag",
        "(TOP (ITJ Nö))",
    ]


@pytest.mark.parametrize("before", [0, 65_500, 200_000])
def test_the_encoding_that_a_file_declares_holds_for_letters_anywhere(
    before: int, tmp_path: Path
) -> None:
    remark = "<!--" + "a line\n" * (before // 500) + "-->\n" + 500 * "<!-- a remark -->\n"
    text = TIGER.replace("UTF-8", "iso8859-15").replace("Nein", "Nö")
    first, second, third = text.partition('<s id="s2">')
    file = write(
        tmp_path / "t.xml", (first + before // 9_000 * remark + second + third).encode("latin-1")
    )
    assert texts_of(file)[::2] == [ATTACHED, "(TOP (ITJ Nö))"]


@pytest.mark.parametrize(
    "start", ['<?xml version="1.0" encoding="', "<!--", "<corpus><!--", '<s id="', "<s ", "<?pi "]
)
def test_a_tag_of_many_lines_takes_time_in_proportion_to_them(start: str) -> None:
    def read(text: str) -> None:
        list(events(text.splitlines(keepends=True), "s"))

    few, many = (repeated("\n", size, start) for size in (1 << 13, 1 << 16))
    assert cpu_seconds(read, many) < 0.3 + 30 * cpu_seconds(read, few)


def test_a_long_remark_is_skipped(tmp_path: Path) -> None:
    remark = "<!--" + "a line\n" * 1_900 + "-->\n"
    first, second, third = TIGER.partition('<s id="s2">')
    file = write(tmp_path / "t.xml", first + remark + second + third)
    assert texts_of(file)[::2] == [ATTACHED, "(TOP (ITJ Nein))"]


def test_a_line_of_declarations_takes_time_in_proportion_to_its_length() -> None:
    def read(text: str) -> None:
        list(events([text], "s"))

    few, many = (repeated("<?xml ", size) for size in (1 << 14, 1 << 17))
    assert cpu_seconds(read, many) < 0.3 + 30 * cpu_seconds(read, few)


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ('<nt id="500" ', "<nt ", "line 14: an element nt without an id"),
        ('<nt id="501" ', '<nt id="500" ', "line 16: a second element with the id 500"),
        ('<t id="4" ', '<t id="3" ', "line 9: a second element with the id 3"),
        ('<t id="2" ', '<t id="501" ', "line 16: a second element with the id 501"),
    ],
)
def test_ids_that_are_none(before: str, after: str, problem: str, tmp_path: Path) -> None:
    """Words were lost, or stood in the tree twice."""
    found = texts_of(write(tmp_path / "t.xml", TIGER.replace(before, after)))
    assert found[0] == f"3: not-a-tree: {problem}" and found[-1] == "(TOP (ITJ Nein))"
    rows = EXPORT_3.replace("#501\t\tNP", "#500\t\tNP")
    assert texts_of(write(tmp_path / "t.export", rows)) == [
        "6: not-a-tree: line 14: a second row of #500"
    ]


@pytest.mark.parametrize("form", ["trees", "export", "tigerxml", "bllip"])
def test_a_refused_header_is_no_tree(form: str, tmp_path: Path) -> None:
    text = TIGER.replace("<corpus>", "<!DOCTYPE c>\n<corpus>")
    for name, content in (("with.xml", text), ("without.xml", TIGER)):
        write(tmp_path / name, content)
    with_header, without = (
        rerank("convert", name, "--to", form, folder=tmp_path)
        for name in ("with.xml", "without.xml")
    )
    assert with_header.stdout == without.stdout and with_header.returncode == 1


def test_a_sentence_whose_start_is_broken_is_a_sentence(tmp_path: Path) -> None:
    for before in ('<s id="s1">', '<s id="s3">'):
        text = TIGER.replace(before, before.replace('="', "="))
        found = texts_of(write(tmp_path / "t.xml", text))
        assert len(found) == 3 and sum("not XML" in each for each in found) == 2


def test_two_trees_of_a_sentence_are_none(tmp_path: Path) -> None:
    text = XML.replace("</parse>", "</parse><parse>(ROOT (UH No))</parse>")
    assert texts_of(write(tmp_path / "t.xml", text))[0] == (
        "3: not-a-tree: a sentence with 2 trees (<parse>)"
    )
    empty = XML.replace("</parse>", "</parse><parse/>")
    assert "with 2 trees" in texts_of(write(tmp_path / "t.xml", empty))[0]


NAMED = EXPORT_3.replace("#BOS 1 0 1098266456 1 %% @SB2AV@", "#BOS doc7/s1").replace(
    "#EOS 1", "#EOS doc7/s1"
)


@pytest.mark.parametrize(
    "text",
    [
        NAMED,
        NAMED.replace("#FORMAT 3\n", ""),
        NAMED[NAMED.index("#BOS") :],
        NAMED[NAMED.index("#BOS") :].replace("doc7/s1", "dpc-bal-001236-nl-sen.p.1.s.2"),
        NAMED[NAMED.index("#BOS") :].replace("doc7/s1", "wsj_0001.1 0 0 0"),
        NAMED[NAMED.index("#BOS") :].replace("\t\t", "\t\t\t").replace("Davon", "1998"),
        NAMED.replace("Davon", "1998").replace("\t", "\t\t"),
        "%% word\tlemma\ttag\n" + NAMED[NAMED.index("#BOS") :],
    ],
)
def test_ids_with_names_and_rows_with_numbers(text: str, tmp_path: Path) -> None:
    found = texts_of(write(tmp_path / "t.export", text))
    assert [each.replace("1998", "Davon") for each in found] == [ATTACHED]
    assert rerank("grep", "S", "t.export", "--count", folder=tmp_path).stdout.split()[-2] == "1"


@pytest.mark.parametrize(
    "text",
    ["#BOS vs #NYY tonight\nWe won 5 4\n", "#BOS wins\n#EOS R5 is a camera\n#BOS loses\n"],
)
def test_a_hashtag_begins_no_treebank(text: str) -> None:
    assert kind_of(text * 3) is None


def test_constituents_without_words_are_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Unused ones, those within one that is used, and those that hold only such ones."""
    for rows in ("#502\t\tNP\t--\tOA\t500\n", "#502\t\tNP\t--\t--\t0\n",
                 "#503\t\tNP\t--\t--\t502\n#502\t\tNP\t--\tOA\t501\n"):  # fmt: skip
        file = write(tmp_path / "t.export", EXPORT_3.replace("#EOS", rows + "#EOS"))
        assert texts_of(file) == [ATTACHED]
        left_out = rows.count("#")
        assert f"{left_out} constituent{'s' * (left_out > 1)} without words" in caplog.text
    for nodes in ('<nt id="502" cat="NP"/>', '<nt id="502" cat="NP"><edge idref="503" label="X"/>'
                  '</nt><nt id="503" cat="PP"></nt>'):  # fmt: skip
        text = TIGER.replace("</nonterminals>", f"{nodes}</nonterminals>")
        assert texts_of(write(tmp_path / "t.xml", text))[0] == ATTACHED


def test_numbers_of_any_length(tmp_path: Path) -> None:
    for number, problem in (
        ("5" * 5_000, f"a parent that does not exist: {'5' * 60}"),
        ("\u0665\u0660\u0660", "line 8: no parent in column 5"),
        ("0" * 5_000, ""),
    ):
        text = EXPORT_3.replace("$(\t--\t--\t0", f"$(\t--\t--\t{number}")
        expected = f"6: not-a-tree: {problem}" if problem else ATTACHED
        assert texts_of(write(tmp_path / "t.export", text)) == [expected]


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize(
    "tree",
    [
        "(TOP (NP-HLN (NN News)))", "(TOP (S-TTL (NP-SBJ (PRP It)) (VP (VBZ runs))))",
        "(TOP (FRAG-HLN-TPC (NP (NN News))))", "(ROOT (NP-HLN (NN News)))",
        "(TOP (NP-HLN (NN News)) (NP-TTL (NN News)))",
    ],
)  # fmt: skip
def test_the_function_of_the_top_constituent_comes_back(
    form: str, tree: str, tmp_path: Path
) -> None:
    write(tmp_path / "t.mrg", tree)
    assert (
        rerank("convert", "t.mrg", "--to", form, "--out", "there", folder=tmp_path).returncode == 0
    )
    assert texts_of(str(tmp_path / "there")) == [tree]


@pytest.mark.parametrize(
    ("form", "summary"),
    [
        ("trees", "3 sentences, 3 candidates written, 0 rejected"),
        ("export", "3 sentences, 1 candidate written, 2 rejected"),
        ("tigerxml", "3 sentences, 2 candidates written, 1 rejected"),
        ("bllip", "3 sentences, 4 candidates written, 0 rejected"),
    ],
)
def test_what_is_not_written_is_not_counted(form: str, summary: str, tmp_path: Path) -> None:
    trees = ("(TOP (S (NN Yes)))", "(TOP (S (NN #FORMAT)))", "(TOP (S (NP )  (NN No)))")
    write(
        tmp_path / "lists",
        bllip([trees[0], trees[0].replace("NN", "UH")], *[[each] for each in trees[1:]]),
    )
    done = rerank("convert", "lists", "--to", form, folder=tmp_path)
    assert done.stderr.splitlines()[-1] == f"rerank: {summary}"


def test_half_a_pair_is_no_character(tmp_path: Path) -> None:
    text = JSON.replace("NP (PRP It", r"NP (PRP \ud800").replace("(UH No)", r"(UH \ud83d\ude00)")
    found = texts_of(write(tmp_path / "t.json", text))
    assert found[0] == "2: encoding: half a surrogate pair" and found[2] == "(ROOT (UH \U0001f600))"
    done = rerank("convert", "t.json", "--to", "trees", "--clean", folder=tmp_path)
    assert (done.returncode, done.stdout) == (1, "(TOP (UH \U0001f600))\n")


def test_xml_from_strangers_is_bounded(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    entity = TIGER.replace("<corpus>", '<!DOCTYPE c [<!ENTITY a "b">]>\n<corpus>')
    file = write(tmp_path / "t.xml", entity)
    assert texts_of(file)[0] == ATTACHED
    assert f"{file}:2: a document type (DTD) in XML is not read: take it out" in caplog.messages
    deep = TIGER.replace("<graph", "<a>" * 200 + "<graph", 1)
    assert "too-deep: more than 100 elements" in texts_of(write(tmp_path / "t.xml", deep))[0]
    cut = TIGER[: TIGER.index("</graph>")]
    assert texts_of(write(tmp_path / "t.xml", cut)) == [
        "3: truncated: the file ends within an element"
    ]


def test_attaching_higher_is_bounded() -> None:
    nodes = {str(n): Row("X", "--", str(n - 1) if n else "") for n in range(1900)}
    words = [Row("N", "--", str(n % 1900), "w") for n in range(9000)]
    assert Graphs().piece(1, 2, words, nodes).problem == (
        "too-deep",
        "9000 words in up to 1900 constituents",
    )


def test_every_command_reads_them(tmp_path: Path, capsys: Capture) -> None:
    file = write(tmp_path / "t.export", EXPORT_3)
    assert main(["grep", "PIS", file, "--count"]) == 0
    assert "\t1\t1\t" in capsys.readouterr().out
    assert main(["eval", file, file]) == 0
    assert main(["measure", file]) == 0
