"""The benchmark of ensembles: a small run of it."""

from pathlib import Path

import pytest

from benchmarks.ensembles import main, spread

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = str(ROOT / "examples" / "parses.txt")


def test_lists_are_spread() -> None:
    assert [nbest.id for nbest in spread(EXAMPLES, 3)] == ["s1", "s9", "s17"]


def test_a_small_run(capsys: pytest.CaptureFixture[str]) -> None:
    names = [str(ROOT / "ckpt" / name) for name in ("rnn-forward.pt", "rnn-backward.pt")]
    flags = [flag for name in names for flag in ("--models", name)]
    main([EXAMPLES, *flags, "--lists", "2", "--rounds", "1"])
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{names[0]}: ") and "1.00 times as fast" in first
    assert first.endswith("another best tree in 0 of 2")
    assert second.startswith(f"{names[1]}: ") and second.endswith(" of 2")
