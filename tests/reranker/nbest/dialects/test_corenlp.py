"""The output of Stanford's LexicalizedParser, CoreNLP's pipeline and Stanza."""

from __future__ import annotations

import contextlib
import gzip
import io
from pathlib import Path

import pytest

from reranker.errors import InputError
from reranker.nbest import read_nbest
from reranker.nbest.writing import list_text
from tests.reranker.nbest.summaries import Read, accepted, rejected, scores

# -printPCFGkBest 2 -outputFormat penn: the best tree by itself, then both with their scores. The
# second sentence was too long for -maxLength.
K_BEST = """\
(ROOT
  (S
    (NP (PRP It))
    (VP (VBZ runs))
    (. .)))

# Parse 1 with score -23.5
(ROOT
  (S
    (NP (PRP It))
    (VP (VBZ runs))
    (. .)))

# Parse 2 with score -31.062501907348633
(ROOT
  (FRAG
    (NP (PRP It) (NNS runs))
    (. .)))

SENTENCE_SKIPPED_OR_UNPARSABLE
(ROOT
  (S
    (VP (VB Go))))

# Parse 1 with score -7.0E-4
(ROOT
  (S
    (VP (VB Go))))

"""
BEST = "(ROOT (S (NP (PRP It)) (VP (VBZ runs)) (. .)))"
SECOND = "(ROOT (FRAG (NP (PRP It) (NNS runs)) (. .)))"
GO = "(ROOT (S (VP (VB Go))))"
# The same with -outputFormat oneline: no blank lines.
ONE_LINE = f"""\
{BEST}
# Parse 1 with score -23.5
{BEST}
# Parse 2 with score -31.062501907348633
{SECOND}
SENTENCE_SKIPPED_OR_UNPARSABLE
{GO}
# Parse 1 with score -7.0E-4
{GO}
"""
# The pipeline's -outputFormat text, of version 4 and, below, of 3.
TEXT = """\
Sentence #1 (3 tokens, sentiment: Neutral):
It runs.

Tokens:
[Text=It CharacterOffsetBegin=0 CharacterOffsetEnd=2 PartOfSpeech=PRP]
[Text=runs CharacterOffsetBegin=3 CharacterOffsetEnd=7 PartOfSpeech=VBZ]
[Text=. CharacterOffsetBegin=7 CharacterOffsetEnd=8 PartOfSpeech=.]

Constituency parse: 
(ROOT
  (S
    (NP (PRP It))
    (VP (VBZ runs))
    (. .)))


Dependency Parse (enhanced plus plus dependencies):
root(ROOT-0, runs-2)
nsubj(runs-2, It-1)
punct(runs-2, .-3)

Sentence #2 (3 tokens, sentiment: Neutral):
(Go)

Tokens:
[Text=( CharacterOffsetBegin=9 CharacterOffsetEnd=10 PartOfSpeech=-LRB-]
[Text=Go CharacterOffsetBegin=10 CharacterOffsetEnd=12 PartOfSpeech=VB]
[Text=) CharacterOffsetBegin=12 CharacterOffsetEnd=13 PartOfSpeech=-RRB-]

Constituency parse: 
(ROOT
  (S (-LRB- -LRB-)
    (VP (VB Go))
    (-RRB- -RRB-)))

"""
OLD_TEXT = """\
Sentence #1 (3 tokens):
It runs.
[Text=It PartOfSpeech=PRP] [Text=runs PartOfSpeech=VBZ] [Text=. PartOfSpeech=.]
(ROOT
  (S
    (NP (PRP It))
    (VP (VBZ runs))
    (. .)))

root(ROOT-0, runs-2)
nsubj(runs-2, It-1)

Sentence #2 (1 tokens):
Go
[Text=Go PartOfSpeech=VB]
(ROOT
  (S
    (VP (VB Go))))

"""
CONLLU = f"""\
# text = It runs.
# sent_id = 0
# constituency = {BEST}
1\tIt\tit\tPRON\tPRP\t_\t2\tnsubj\t_\t_
2\truns\trun\tVERB\tVBZ\t_\t0\troot\t_\tSpaceAfter=No
3\t.\t.\tPUNCT\t.\t_\t2\tpunct\t_\t_

# text = Go
# sent_id = 1
# constituency = {GO}
1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_

"""
RUNS_TOKENS = "(S (NP It )NP (VP runs )VP . )S"
FRAG_TOKENS = "(FRAG (NP It runs )NP . )FRAG"
GO_TOKENS = "(S (VP Go )VP )S"


@pytest.mark.parametrize("text", [K_BEST, ONE_LINE, K_BEST.replace("\n", "\r\n")])
def test_k_best_lists(read: Read, text: str) -> None:
    first, skipped, last = read(text)
    assert accepted(first) == [RUNS_TOKENS, FRAG_TOKENS]
    assert scores(first) == [-23.5, -31.062501907348633]  # nats already
    assert [one.text for one in first.candidates] == [BEST, SECOND]
    assert (skipped.id, accepted(skipped), rejected(skipped)) == ("1", [], [])
    assert (last.id, accepted(last), scores(last)) == ("2", [GO_TOKENS], [-7e-4])


def test_lines_are_those_of_the_scored_trees(read: Read) -> None:
    first, skipped, last = read(K_BEST)
    assert (first.line, skipped.line, last.line) == (1, 20, 21)
    assert [one.line for one in first.candidates] == [8, 15]


def test_k_best_lists_without_the_best_tree_before_them(read: Read) -> None:
    scored = f"# Parse 1 with score -1\n{BEST}\n# Parse 2 with score -2\n{SECOND}\n"
    lists = read(f"{scored}{scored}# Parse 1 with score -3\n{GO}\n")
    assert [accepted(one) for one in lists] == [[RUNS_TOKENS, FRAG_TOKENS]] * 2 + [[GO_TOKENS]]


def test_the_factored_parser_s_best_tree_comes_first(read: Read) -> None:
    kept = f"# Parse 1 with score -1\n{BEST}\n# Parse 2 with score -2\n{SECOND}\n"
    (nbest,) = read(f"{SECOND}\n{kept}")
    assert [(one.text, one.parser_score) for one in nbest.candidates] == [(SECOND, -2), (BEST, -1)]
    other = BEST.replace("(S ", "(SINV ")
    (nbest,) = read(f"{other}\n{kept}")
    assert [one.text for one in nbest.candidates] == [other, BEST, SECOND]
    assert scores(nbest) == [None, -1, -2]


@pytest.mark.parametrize("failed", ["(())", "SENTENCE_SKIPPED_OR_UNPARSABLE"])
def test_nothing_follows_a_failed_sentence(read: Read, failed: str) -> None:
    lists = read(f"{failed}\n# Parse 1 with score -1\n{GO}\n{failed}\n{failed}\n")
    assert [accepted(one) for one in lists] == [[], [GO_TOKENS], [], []]


def test_messages_of_the_parser_are_no_candidates(read: Read) -> None:
    log = "Parsing [sent. 1 len. 3]: It runs .\n"
    (nbest,) = read(f"Parsing file: a.txt\n{log}{ONE_LINE.split('SENT')[0]}Parsed file: a.txt\n")
    assert accepted(nbest) == [RUNS_TOKENS, FRAG_TOKENS]
    assert not nbest.rejected


def test_text_output(read: Read) -> None:
    first, second = read(TEXT)
    assert (first.line, accepted(first), scores(first)) == (1, [RUNS_TOKENS], [None])
    assert first.candidates[0].line == 10
    # The sentence's own bracket does not begin a tree.
    assert accepted(second) == ["(S -LRB- (VP Go )VP -RRB- )S"]
    assert [accepted(one) for one in read(OLD_TEXT)] == [[RUNS_TOKENS], [GO_TOKENS]]


def test_stanza_s_conllu(read: Read) -> None:
    first, second = read(CONLLU)
    assert (first.id, first.line, accepted(first)) == ("0", 1, [RUNS_TOKENS])
    assert (second.id, second.line, accepted(second)) == ("1", 8, [GO_TOKENS])
    assert [one.line for one in (*first.candidates, *second.candidates)] == [3, 10]


PENN = K_BEST.split("# Parse")[0]
STANZA = f"{BEST}\n{GO}\n"


@pytest.mark.parametrize("text", [PENN, STANZA])
def test_trees_alone_are_format_trees_and_mean_the_same(read: Read, text: str) -> None:
    assert read(text) == read(text, format="trees") == read(text, format="corenlp")


@pytest.mark.parametrize(
    ("text", "description"),
    [
        (K_BEST, "corenlp (k-best lists)"),
        (TEXT, "corenlp (text output of the pipeline)"),
        (CONLLU, "corenlp (CoNLL-U comments)"),
        (f"SENTENCE_SKIPPED_OR_UNPARSABLE\n{GO}\n", "corenlp (one tree per sentence)"),
        (PENN, "trees"),
        (STANZA, "trees"),
    ],
)
def test_recognised(tmp_path: Path, text: str, description: str) -> None:
    path = tmp_path / "lists.txt"
    path.write_text(text)
    with contextlib.closing(read_nbest(path)) as lists:
        assert [file.description for file in lists.files] == [description]


def test_written(read: Read, tmp_path: Path) -> None:
    written = io.StringIO()
    for position, nbest in enumerate(read(K_BEST)):
        written.write(list_text(nbest, position, "corenlp"))
    assert written.getvalue() == (
        f"# Parse 1 with score -23.5\n{BEST}\n"
        f"# Parse 2 with score -31.062501907348633\n{SECOND}\n"
        "SENTENCE_SKIPPED_OR_UNPARSABLE\n"
        f"# Parse 1 with score -0.0007\n{GO}\n"
    )
    again = read(written.getvalue())
    assert [(accepted(one), scores(one)) for one in again] == [
        (accepted(one), scores(one)) for one in read(K_BEST)
    ]


@pytest.mark.parametrize("score", ["NaN", "-Infinity", "high"])
def test_a_score_that_is_no_number_does_not_cost_the_tree(read: Read, score: str) -> None:
    (nbest,) = read(f"# Parse 1 with score {score}\n{BEST}\n# Parse 2 with score -2\n{SECOND}\n")
    assert scores(nbest) == [None, -2]


def test_k_best_lists_cut_anywhere_are_read_up_to_there(read: Read) -> None:
    text = K_BEST[K_BEST.index("# Parse") : K_BEST.index("SENT")]
    for size in range(len("# Parse 1 with score -"), len(text)):
        part = text[:size]
        (nbest,) = read(part, format="corenlp")
        whole = [one for one in (BEST, SECOND) if one in " ".join(part.split())]
        assert [one.text for one in nbest.candidates] == whole
        is_between = part.rstrip().endswith(")))")
        assert bool(nbest.rejected) != is_between


def test_bad_trees_and_stray_lines_cost_only_themselves(read: Read) -> None:
    first, second = read(
        f"# Parse 1 with score -1\n{BEST[:-1]}\n\n# Parse 2 with score -2\n"
        f"# Parse 3 with score -3\n{SECOND}\n\nout of memory\n# Parse 4 with score -4\n(())\n"
        f"# Parse 1 with score -5\n{GO}\n"
    )
    assert accepted(first) == [FRAG_TOKENS]
    assert scores(first) == [-3]
    assert rejected(first) == [
        (0, 2, "unbalanced"), (1, 4, "empty"), (3, 8, "not-a-tree"), (4, 10, "empty")
    ]  # fmt: skip
    assert first.rejected[1].message == "a score without a tree"
    assert first.rejected[2].text == "out of memory"
    assert (second.id, accepted(second)) == ("1", [GO_TOKENS])


@pytest.mark.parametrize("text", [TEXT, OLD_TEXT, CONLLU])
def test_a_sentence_without_a_tree_is_reported(read: Read, text: str) -> None:
    lines = text.splitlines(keepends=True)
    first = "".join(line for line in lines[:4] if "constituency" not in line)
    lists = read(first.replace("(ROOT\n", "") + "\n" + text)
    assert len(lists) == 3
    assert rejected(lists[0]) == [(0, 1, "empty")]
    assert lists[0].rejected[0].message == "the sentence has no tree"
    assert accepted(lists[1]) == [RUNS_TOKENS]


def test_text_output_cut_inside_a_tree(read: Read) -> None:
    first, last = read(TEXT[: TEXT.rindex("(-RRB-")])
    assert accepted(first) == [RUNS_TOKENS]
    assert rejected(last) == [(0, 31, "unbalanced")]
    # Without its end, and without a blank line before the next sentence.
    cut = TEXT.replace("    (. .)))\n\n\n", "")
    assert rejected(read(cut)[0]) == [(0, 10, "unbalanced")]


def test_a_damaged_file_ends_in_a_truncated_list(read: Read) -> None:
    text = "".join(f"# Parse 1 with score -1\n(S (NN a{n * 7919}))\n" for n in range(2000))
    lists = read(gzip.compress(text.encode())[:-4])
    assert rejected(lists[-1]) == [(0, 4000, "truncated")]
    assert len(lists) == 2001


def test_another_kind_of_text_is_an_input_error(read: Read) -> None:
    with pytest.raises(InputError, match=r"0\.txt:2: "):
        read("\nIt runs.\nIt stops.\n", format="corenlp")
    with pytest.raises(
        InputError, match=r"0\.txt:1: .* a tree or '# Parse 1 with score'; found '%"
    ):
        read("% 1\n" * 1000 + GO, format="corenlp")


def test_pooled_with_another_parser(read: Read) -> None:
    bllip = f"1\t0\n-1\n{BEST}\n\n0\t1\n\n1\t2\n-2\n{GO}\n\n"
    first, skipped, last = read(K_BEST, bllip)
    assert accepted(first) == [RUNS_TOKENS, FRAG_TOKENS, RUNS_TOKENS]
    assert accepted(skipped) == []
    assert accepted(last) == [GO_TOKENS, GO_TOKENS]
    (other,) = read(f"{BEST}\n", f"# Parse 1 with score -1\n{GO}\n")
    assert rejected(other) == [(1, 2, "wrong-length")]
