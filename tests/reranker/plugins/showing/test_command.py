"""``rerank show``: exact drawings of small trees, verdicts against gold, SVG, bad input."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from reranker.commands.main import main
from tests.reranker.small_files import bllip, standard_input, write

Capture = pytest.CaptureFixture[str]

# The parser's first attaches "on Monday" to the man, the best one to the verb.
FIRST = (
    "(S1 (S (NP (PRP She)) (VP (VBD met)"
    " (NP (NP (DT the) (NN man)) (PP (IN on) (NP (NNP Monday))))) (. .)))"
)
BEST = (
    "(S1 (S (NP (PRP She)) (VP (VBD met) (NP (DT the) (NN man)) (PP (IN on) (NP (NNP Monday))))"
    " (. .)))"
)
GOLD = BEST.replace("(S1 ", "(TOP ")
FLAT = "(S1 (NP (DT The) (NN end)))"


def sentence(name: str, best: int | None, *trees: str, **changes: Any) -> str:
    """Return a line of ranked output: candidates with their places in the parser's list, best
    first."""
    places = sorted(range(len(trees)), key=lambda place: (place != best, place))
    row = {
        "id": name,
        "best_index": best,
        "fallback": None if trees else FLAT,
        "ranking": [{"index": place, "tree": trees[place]} for place in places],
        "rejected": [],
    }
    return json.dumps({**row, **changes}) + "\n"


@pytest.fixture
def ranked(tmp_path: Path) -> str:
    lines = [sentence("a", 1, FIRST, BEST), sentence("b", 0, FLAT), sentence("c", 1, BEST, FIRST)]
    return write(tmp_path / "ranked.jsonl", "".join(lines))


@pytest.fixture
def gold(tmp_path: Path) -> str:
    return write(tmp_path / "gold.mrg", f"{GOLD}\n{FLAT}\n{GOLD}\n")


def shown(capsys: Capture, *arguments: str, code: int = 0) -> str:
    assert main(["show", *arguments]) == code
    return capsys.readouterr().out


def test_the_best_beside_the_parsers_first(ranked: str, gold: str, capsys: Capture) -> None:
    # 6 of the first tree's 7 brackets are right and all 6 of gold's: F1 = 2 * 6 / (7 + 6).
    arguments = (ranked, "--gold", gold, "--sentence", "a", "--width", "100")
    assert shown(capsys, *arguments) == (
        """\
a: best, candidate 2, better: F1 92.31 -> 100.00
  She met the man on Monday .
  - NP✗ the man on Monday

parser's first                               best, candidate 2
                 S1                                           S1
                 │                                            │
                 S✓                                           S✓
 ┌───────────────┼───────────────────────┐    ┌───────────────┼──────────────────┐
 │              VP✓                      │    │              VP✓                 │
 │   ┌───────────┴───┐                   │    │   ┌───────┬───┴───────┐          │
 │   │              *NP✗                 │    │   │       │          PP✓         │
 │   │       ┌───────┴────────┐          │    │   │       │       ┌───┴────┐     │
 │   │       │               PP✓         │   NP✓  │      NP✓      │       NP✓    │
 │   │       │            ┌───┴────┐     │    │   │   ┌───┴───┐   │        │     │
NP✓  │      NP✓           │       NP✓    │   PRP VBD  DT      NN  IN      NNP    .
 │   │   ┌───┴───┐        │        │     │    │   │   │       │   │        │     │
PRP VBD  DT      NN       IN      NNP    .   She met the     man  on     Monday  .
 │   │   │       │        │        │     │
She met the     man       on     Monday  .

"""
    )


def test_outlines_where_drawings_are_too_wide(ranked: str, capsys: Capture) -> None:
    wide = shown(capsys, ranked, "--sentence", "a", "--width", "100")
    assert shown(capsys, ranked, "--sentence", "a", "--width", "9" * 24) == wide
    assert shown(capsys, ranked, "--sentence", "a", "--width", "40").split("\n\n")[1] == (
        """\
parser's first
S1
└─ S
   ├─ NP She/PRP
   ├─ VP
   │  ├─ met/VBD
   │  └─ *NP
   │     ├─ NP the/DT man/NN
   │     └─ PP
   │        ├─ on/IN
   │        └─ NP Monday/NNP
   └─ ./."""
    )


def test_brief_says_which_changes_are_better_and_what_they_are_worth(
    ranked: str, gold: str, capsys: Capture
) -> None:
    # All together 13 gold brackets, and on either side 13 of 14 right: F1 = 2 * 13 / (13 + 14). No
    # swap of answers gives a difference smaller than none.
    text = shown(capsys, ranked, "--gold", gold, "--brief")
    assert [line for line in text.splitlines() if line[1:2] == ":"] == [
        "a: best, candidate 2, better: F1 92.31 -> 100.00",
        "c: best, candidate 2, worse: F1 100.00 -> 92.31",
    ]
    assert "  + NP✗ the man on Monday" in text
    assert text.splitlines()[-2:] == [
        "3 sentences, 2 with another tree than the parser's first: 1 better, 1 worse, 0 equal",
        "F1 96.30 -> 96.30, p = 1.0000 (approximate randomisation)",
    ]


def test_which_sentences_are_shown(ranked: str, capsys: Capture) -> None:
    def ids(*flags: str) -> list[str]:
        lines = shown(capsys, ranked, "--brief", *flags).splitlines()
        return [line[0] for line in lines if line[1:2] == ":"]

    assert ids() == ["a", "c"]
    assert ids("--all") == ["a", "b", "c"]
    assert ids("--sentence", "b") == ["b"]
    assert ids("--sentence", "3", "a") == ["a", "c"]  # no id is 3: the third


def test_all_sentences_of_an_id_are_shown(tmp_path: Path, capsys: Capture) -> None:
    """Two files in one, each with its own ids."""
    lines = [sentence("a", 1, FIRST, BEST), sentence("b", 0, FLAT)] * 2
    twice = write(tmp_path / "ranked.jsonl", "".join(lines))
    text = shown(capsys, twice, "--brief", "--sentence", "b", "1")  # no id is 1: the first
    assert [line[0] for line in text.splitlines() if line[1:2] == ":"] == ["b", "b", "a"]


def test_sentences_without_names_are_numbered_from_1(tmp_path: Path, capsys: Capture) -> None:
    trees = write(tmp_path / "t.mrg", f"{FIRST}\n{BEST}\n{FIRST[:-1]}\n")
    ranked = [json.loads(sentence(str(place), 0, BEST)) for place in range(2)]
    rows = write(tmp_path / "r", "".join(f"{json.dumps(row)}\n" for row in ranked))
    for name in (trees, rows):
        assert main(["show", name, "--all", "--brief"]) == int(name == trees)
        printed = capsys.readouterr()
        numbers = [line.partition(":")[0] for line in printed.out.splitlines() if ":" in line]
        assert numbers[:2] == ["1", "2"]
        assert name == rows or "candidate 1 of list 3 rejected" in printed.err
        assert main(["show", name, "--all", "--sentence", "2"]) in (0, 1)
        assert capsys.readouterr().out.startswith("2: ")
        assert main(["show", name, "--sentence", "0"]) == 2
        capsys.readouterr()
    assert main(["show", rows, "--all", "--svg", str(tmp_path / "pictures")]) == 0
    assert sorted(file.name for file in (tmp_path / "pictures").iterdir()) == ["1.svg", "2.svg"]


def test_lists_and_trees_show_their_first_tree(tmp_path: Path, gold: str, capsys: Capture) -> None:
    lists = write(tmp_path / "n.txt", bllip((FIRST, BEST), (FLAT,), (BEST,)))
    for file in (lists, write(tmp_path / "trees", f"{FIRST}\n{FLAT}\n{BEST}\n")):
        text = shown(capsys, file, "--gold", gold, "--brief")
        assert text.splitlines()[0].endswith("first tree, F1 92.31")
        assert text.splitlines()[-1] == "3 sentences, F1 96.30"


def test_marks_agree_with_evalb_on_the_examples(capsys: Capture) -> None:
    """Every parse's right and wrong brackets are those that EVALB's F1 is made of."""
    examples = Path(__file__).parents[4] / "examples"
    gold = str(examples / "gold.mrg")
    arguments = [str(examples / "parses.txt"), "--gold", gold, "--gold-tags", "--width", "20"]
    text = shown(capsys, *arguments)
    right, wrong = text.count("✓"), text.count("✗")
    assert text.splitlines()[-1] == "26 sentences, F1 90.15"
    # The demonstration's table: precision 89.96.
    assert f"{100 * right / (right + wrong):.2f}" == "89.96"


def test_svg_parses_and_escapes(tmp_path: Path, capsys: Capture) -> None:
    tree = "(S1 (NP (DT <b>) (NN a&b\x1b[31m) (POS '\")))"
    file = write(tmp_path / "r", sentence("../x y", 1, tree.replace("NP", "VP"), tree))
    folder = tmp_path / "drawings"
    assert shown(capsys, file, "--svg", str(folder)) == ""
    (picture,) = folder.iterdir()
    assert picture.name == "_x_y.svg"
    texts = [element.text for element in ElementTree.parse(picture).iter() if element.text]
    assert {"<b>", "a&b\ufffd[31m", "'\"", "*NP", "*VP", "parser's first"} <= set(texts)
    assert main(["show", file, "--svg", str(tmp_path / "one.svg")]) == 0
    assert (tmp_path / "one.svg").read_text() == picture.read_text()
    text = shown(capsys, file, "--brief")
    assert "\x1b" not in text and "a&b\ufffd[31m" in text


def test_a_picture_with_another_ending_is_refused(
    ranked: str, tmp_path: Path, capsys: Capture
) -> None:
    for name in ("one.png", "one.pdf", "one.svg.gz", "folder.d"):
        picture = tmp_path / name
        assert main(["show", ranked, "--sentence", "a", "--svg", str(picture)]) == 2
        message = capsys.readouterr().err
        assert f"{picture}: --svg writes SVG: name a file that ends in .svg" in message
        assert (f"for PNG: --png {picture}\n" in message) == (name == "one.png")
        assert not picture.exists()
    (tmp_path / "folder.d").mkdir()
    assert main(["show", ranked, "--svg", str(tmp_path / "folder.d")]) == 0
    assert (tmp_path / "folder.d" / "a.svg").is_file()


@pytest.mark.parametrize("kind", ["png", "pdf"])
def test_png_and_pdf(kind: str, ranked: str, tmp_path: Path, capsys: Capture) -> None:
    pytest.importorskip("typst")
    folder = tmp_path / "pictures"
    for _ in range(2):  # its own pictures are replaced
        assert shown(capsys, ranked, f"--{kind}", str(folder)) == ""
        assert sorted(each.name for each in folder.iterdir()) == [f"a.{kind}", f"c.{kind}"]
    (one, mine) = tmp_path / f"one.{kind}", folder / f"c.{kind}"
    assert shown(capsys, ranked, "--sentence", "a", f"--{kind}", str(one)) == ""
    assert one.read_bytes() == (folder / f"a.{kind}").read_bytes()
    start = one.read_bytes()[:8]
    mine.write_bytes(start)
    assert main(["show", ranked, f"--{kind}", str(folder)]) == 2
    assert f"{mine}: not a file that this run may replace" in capsys.readouterr().err
    assert mine.read_bytes() == start


def test_one_pdf_has_a_page_for_each_sentence(
    ranked: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("typst")
    pdf = tmp_path / "all.pdf"
    assert main(["show", ranked, "--pdf", str(pdf)]) == 0
    assert f"drawings of 2 sentences written to {pdf}" in capsys.readouterr().err
    before = pdf.read_bytes()
    assert before.startswith(b"%PDF") and before.count(b"/Type/Page/") == 2
    monkeypatch.setattr("reranker.plugins.showing.pictures._MOST_PAGES", 1)
    assert main(["show", ranked, "--pdf", str(pdf)]) == 2
    assert "name a folder instead of a file" in capsys.readouterr().err
    assert pdf.read_bytes() == before


def test_a_sentence_too_large_for_a_pdf_is_left_out(tmp_path: Path, capsys: Capture) -> None:
    pytest.importorskip("typst")
    wide = " ".join(f"(NN w{number})" for number in range(480))
    trees = tmp_path / "trees.mrg"
    trees.write_text(f"(TOP (NP (NN a)))\n(TOP (NP {wide}))\n(TOP (NP (NN b)))\n")
    folder = tmp_path / "drawings"
    assert main(["show", str(trees), "--pdf", str(folder)]) == 1
    assert sorted(path.name for path in folder.iterdir()) == ["1.pdf", "3.pdf"]
    assert "2.pdf: " in capsys.readouterr().err


def test_without_typst_nothing_is_begun(
    ranked: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "typst", None)
    assert main(["show", ranked, "--pdf", str(tmp_path / "pictures")]) == 2
    assert "pip install 'parse-reranker[draw]'; SVG does not" in capsys.readouterr().err
    assert not (tmp_path / "pictures").exists()


def test_only_drawings_are_replaced(ranked: str, tmp_path: Path, capsys: Capture) -> None:
    folder = tmp_path / "pictures"
    assert main(["show", ranked, "--svg", str(folder)]) == 0
    before = (folder / "a.svg").read_text()
    (folder / "a.svg").write_text(before.replace("She", "He"))  # of other trees
    assert main(["show", ranked, "--svg", str(folder)]) == 0
    assert (folder / "a.svg").read_text() == before
    mine = '<svg xmlns="http://www.w3.org/2000/svg" width="9"><text>mine</text></svg>\n'
    (folder / "c.svg").write_text(mine)
    capsys.readouterr()
    assert main(["show", ranked, "--svg", str(folder)]) == 2
    assert f"{folder / 'c.svg'}: not a" in capsys.readouterr().err
    assert (folder / "c.svg").read_text() == mine
    (folder / "c.svg").rename(tmp_path / "mine.svg")
    (tmp_path / "elsewhere.svg").write_text(before)
    (folder / "c.svg").symlink_to(tmp_path / "elsewhere.svg")
    assert main(["show", ranked, "--svg", str(folder)]) == 2  # nor through a link
    assert (tmp_path / "elsewhere.svg").read_text() == before


def test_svg_of_a_single_tree(tmp_path: Path, capsys: Capture) -> None:
    """Constituents without words stay inside the picture; without marks there is no legend."""
    file = write(tmp_path / "trees", "(S (NP ) (VP (V xxx) (W y)))\n")
    assert main(["show", file, "--svg", str(tmp_path / "one.svg")]) == 0
    assert "drawings of 1 sentence written" in capsys.readouterr().err
    texts = list(ElementTree.parse(tmp_path / "one.svg").iter("{http://www.w3.org/2000/svg}text"))
    assert [text.text for text in texts] == ["first tree", "S", "NP", "VP", "V", "xxx", "W", "y"]
    assert min(float(text.attrib["x"]) for text in texts) >= 24  # the margin


def test_blank_lines_of_ranked_output_are_skipped(ranked: str, capsys: Capture) -> None:
    before = shown(capsys, ranked)
    Path(ranked).write_text("\n" + Path(ranked).read_text())
    assert shown(capsys, ranked) == before


def test_colours_are_for_terminals_that_want_them(
    ranked: str, gold: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    text = shown(capsys, ranked, "--gold", gold, "--sentence", "a")
    assert "\x1b[1m\x1b[31m*NP✗\x1b[0m" in text  # changed: bold; wrong: red
    assert "\x1b[32mNP✓\x1b[0m" in text
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in shown(capsys, ranked, "--gold", gold, "--sentence", "a")


def test_wide_characters_keep_columns(tmp_path: Path, capsys: Capture) -> None:
    file = write(tmp_path / "trees", "(TOP (IP (NP (NN 東京)) (VP (VV 着く))))\n")
    assert shown(capsys, file).split("\n\n")[1] == (
        "first tree\nTOP\n└─ IP\n   ├─ NP 東京/NN\n   └─ VP 着く/VV"
    )


HEBREW = "(TOP (S (NP (NN נער) (-LRB- -LRB-) (NN עמרם) (-RRB- -RRB-)) (VP (VB רץ)) (. .)))\n"


def test_right_to_left_text_is_drawn_from_the_right(tmp_path: Path, capsys: Capture) -> None:
    file = write(tmp_path / "trees", HEBREW)
    assert main(["show", file, "--svg", str(tmp_path / "one.svg")]) == 0
    elements = ElementTree.parse(tmp_path / "one.svg").iter("{http://www.w3.org/2000/svg}text")
    words = [each for each in elements if each.get("direction") == "rtl"]
    assert [word.text for word in words] == ["נער", "-LRB-", "עמרם", "-RRB-", "רץ", "."]
    places = [float(word.attrib["x"]) for word in words]
    assert places == sorted(places, reverse=True) and places[-1] > 24


def test_right_to_left_text_in_a_terminal_has_a_tag_behind_each_word(
    tmp_path: Path, capsys: Capture
) -> None:
    """A tag keeps each word in its place, whether the terminal reorders letters or not."""
    text = shown(capsys, write(tmp_path / "trees", HEBREW))
    assert "   ├─ NP נער/NN -LRB-/-LRB- עמרם/NN -RRB-/-RRB-\n   ├─ VP רץ/VB" in text
    persian = write(tmp_path / "persian", "(TOP (VP (VB می\u200cرود)))\n")
    assert "می\u200cرود/VB" in shown(capsys, persian), "the joiner is spelling"


def test_trees_too_deep_to_draw_become_outlines(tmp_path: Path, capsys: Capture) -> None:
    tree = "(TOP " + "(NP " * 1_900 + "(NN end)" + ")" * 1_901
    text = shown(capsys, write(tmp_path / "trees", tree + "\n"))
    assert "NP end/NN" in text
    assert main(["show", str(tmp_path / "trees"), "--svg", str(tmp_path / "deep.svg")]) == 0


def test_without_a_usable_candidate_or_the_parsers_first(
    tmp_path: Path, gold: str, capsys: Capture
) -> None:
    rejected = [{"index": 0, "file": "n", "line": 2, "code": "unbalanced", "message": "open"}]
    lines = [
        sentence("a", None, rejected=rejected),
        sentence("b", 1, ranking=[{"index": 1, "tree": FLAT}]),
        sentence("c", 1, rejected=rejected, ranking=[{"index": 1, "tree": BEST}]),
    ]
    file = write(tmp_path / "r", "".join(lines))
    text = shown(capsys, file, "--gold", gold, "--all", "--brief", code=1)
    assert [line for line in text.splitlines() if line[1:2] == ":"] == [
        "a: no usable candidate",
        "b: best, candidate 2 (the parser's first is not in the file), F1 100.00",
        "c: best, the parser's first, F1 100.00",  # of those that were not rejected
    ]


def test_standard_input(ranked: str, capsys: Capture) -> None:
    for content in (Path(ranked).read_bytes(), f"{BEST}\n{FLAT}\n"):
        with standard_input(content):
            assert main(["show", "-", "--brief"]) == 0
        assert "man on Monday" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"ranking": [1]}', "ranked:2: not a sentence of `rerank --output ranked`"),
        (sentence("x", 7, FLAT), "best_index is not the index of a candidate"),
        (sentence("x", 0, FLAT, ranking=[{"index": "0", "tree": FLAT}]), "an index is not a whole"),
        (sentence("x", 0, ranking=[{"index": 0, "tree": FLAT}] * 2), "have the same index"),
        ('{"ranking"', "ranked:2: not a sentence"),
        ("[" * 100_000, "ranked:2: not a sentence"),
    ],
)
def test_lines_that_are_not_ranked_output(
    line: str, reason: str, tmp_path: Path, capsys: Capture
) -> None:
    file = write(tmp_path / "ranked", sentence("a", 0, FLAT) + line.strip() + "\n")
    assert main(["show", file, "--svg", str(tmp_path / "folder")]) == 2
    assert reason in capsys.readouterr().err
    assert not (tmp_path / "folder").exists()


def test_a_tree_that_cannot_be_read_and_one_that_cannot_be_scored(
    tmp_path: Path, gold: str, capsys: Capture
) -> None:
    lines = [sentence("a", 1, FIRST, BEST[:-1]), sentence("b", 0, FLAT), sentence("c", 0, FLAT)]
    file = write(tmp_path / "ranked", "".join(lines))
    assert main(["show", file, "--gold", gold]) == 1
    printed = capsys.readouterr()
    assert f"{file}:1: candidate 2 of list a rejected, unbalanced" in printed.err
    assert f"{gold}:3: sentence not scored: 6 gold words, 2 test words" in printed.err
    assert "a: no usable candidate" in printed.out


def test_unusable_requests(ranked: str, gold: str, tmp_path: Path, capsys: Capture) -> None:
    short = write(tmp_path / "short.mrg", f"{GOLD}\n")
    long = write(tmp_path / "long.mrg", f"{GOLD}\n" * 4)
    broken = write(tmp_path / "broken.mrg", f"{GOLD}\n(NP\n")
    folder = str(tmp_path / "no" / "x.svg")
    for arguments, reason in [
        (["--gold-tags"], "--gold-tags needs --gold"),
        (["--svg", "x.svg", "--brief"], "--brief leaves out the drawings that --svg writes"),
        (["--sentence", "4"], f"{ranked}: no sentence 4"),
        (["--gold", short], f"{short}: no gold tree for sentence b"),
        (["--gold", long], f"{long}: more gold trees than sentences"),
        (["--gold", broken], f"{broken}:2: not a gold tree"),
        (["--svg", str(tmp_path / "x.svg")], "more than one sentence to draw"),
        (["--svg", folder, "--sentence", "a"], f"there is no folder {tmp_path / 'no'}"),
        (["--svg", ranked, "--sentence", "a"], f"{ranked}: --svg writes SVG"),
        (["--svg", write(tmp_path / "x", ""), "--sentence", "a"], "there is no folder"),
        (["--svg", "/proc/pictures"], "/proc/pictures: cannot be written"),
    ]:
        assert main(["show", ranked, *arguments]) == 2, arguments
        assert reason in capsys.readouterr().err
    assert main(["show", str(tmp_path / "missing")]) == 2
    assert "cannot be read: No such file" in capsys.readouterr().err
