"""The effect of surprisal on reading times, on three invented stories."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from reranker.errors import InputError
from tests.eval.scripts import module, run
from tests.reranker.ensembles import save
from tests.reranker.plugins.surprisal.toy import checkpoint

script = module("surprisal/natural_stories.py")
WORDS = [
    "It",
    "rains",
    "here.",
    "The",
    "otters",
    "don't",
    "mind",
    "it,",
    "and",
    "boxes",
    "rain",
    "here.",
]


def write(path: Path, lines: list[str]) -> None:
    path.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    read, times, frequencies, gpt3 = (
        ["word\tzone\titem"],
        ["word\tzone\titem\tnItem\tmeanItemRT"],
        list[str](),
        ["token,logprob,offset,model,time,id,story"],
    )
    random = np.random.default_rng(1)
    for item in (1, 2, 3):
        for zone, word in enumerate(WORDS, 1):
            read.append(f"{word}\t{zone}\t{item}")
            times.append(f"{word}\t{zone}\t{item}\t80\t{300 + random.normal(scale=20)}")
            frequencies.append(f"{item}.{zone}.whole\t1\t{word}\t1\tNA")
            frequencies.append(f"{item}.{zone}.word\t1\t{word}\t{1000 // zone}\tNA")
            space = " " if zone > 1 else ""
            log_probability = "" if zone == 1 else f"{-zone / 2}"
            if word.endswith("."):
                gpt3.append(f"{space}{word[:-1]},{log_probability},0,m,0,i,{item - 1}")
                gpt3.append(f".,-0.25,0,m,0,i,{item - 1}")
            else:
                quoted = f'"{space}{word}"'
                gpt3.append(f"{quoted},{log_probability},0,m,0,i,{item - 1}")
    write(tmp_path / "all_stories.tok.gz", read)
    write(tmp_path / "reading_times.tsv.gz", times)
    write(tmp_path / "freqs-1.tsv.gz", frequencies)
    write(tmp_path / "gpt3.csv.gz", gpt3)
    return tmp_path


def test_the_corpus_is_read(corpus: Path) -> None:
    first = script.read_stories(corpus)[0]
    assert first.words == WORDS
    assert first.columns["length"][:3].tolist() == [2, 5, 5]
    assert first.columns["frequency"][1] == pytest.approx(np.log(501))
    assert first.columns["gpt3"][:4].tolist() == [0, 1, 1.75, 2]
    write(corpus / "all_stories.tok.gz", ["word\tzone\titem", "Other\t1\t1"])
    with pytest.raises(InputError, match="story 1"):
        script.read_stories(corpus)


def test_held_out_likelihood_is_that_of_the_other_stories_regression() -> None:
    random = np.random.default_rng(2)
    stories = []
    for _ in range(3):
        cause, noise = random.normal(size=40), random.normal(size=40)
        time = 300 + 10 * cause + np.concatenate([[0], 5 * cause[:-1]]) + noise
        stories.append(script.Story([], {"cause": cause, "other": noise * 0, "time": time}))
    likelihoods = script.held_out(stories, ["cause"])
    assert len(likelihoods) == 3 * 39
    # The first story, from the normal equations of the other two.
    design = [np.column_stack([np.ones(39), s.columns["cause"][1:], s.columns["cause"][:-1]])
              for s in stories]  # fmt: skip
    times = [story.columns["time"][1:] for story in stories]
    train, goal = np.concatenate(design[1:]), np.concatenate(times[1:])
    weights = np.linalg.solve(train.T @ train, train.T @ goal)
    variance = np.mean((goal - train @ weights) ** 2)
    errors = times[0] - design[0] @ weights
    expected = -0.5 * np.log(2 * np.pi * variance) - errors**2 / (2 * variance)
    assert likelihoods[:39] == pytest.approx(expected)
    assert weights[1:] == pytest.approx([10, 5], abs=0.5)


def test_p_is_the_share_of_flips_that_are_as_far_from_zero() -> None:
    sentences = np.repeat(np.arange(12), 5)
    assert script.flipped_p(np.ones(60), sentences) == pytest.approx(2 / 2**12, abs=5e-4)
    even = np.tile([1.0, -1.0], 30)
    assert script.flipped_p(even, np.repeat(np.arange(30), 2)) == 1


def test_the_table(corpus: Path, tmp_path: Path) -> None:
    model = save(tmp_path / "forward.pt", checkpoint(1))
    flags = ["--data", corpus, "--models", model, "--beam", "2", "5"]
    flags += ["--keep", tmp_path / "kept", "--plot", tmp_path / "table.png"]
    first = run("surprisal/natural_stories.py", *flags).stdout
    lines = first.splitlines()
    assert lines[0].split()[:3] == ["beyond", "words", "1000"]
    assert [line.split("  ")[0] for line in lines[1:4]] == [
        "ours, K = 2", "ours, K = 5", "ours, K = 5, in two parts",
    ]  # fmt: skip
    assert all(f" {3 * (len(WORDS) - 1)} " in line for line in lines[1:])
    assert (tmp_path / "table.png").stat().st_size > 1000
    assert len(list((tmp_path / "kept").iterdir())) == 6
    assert run("surprisal/natural_stories.py", *flags).stdout == first
