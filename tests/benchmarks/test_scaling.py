"""The model of many machines, with numbers that are easily worked out."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.scaling import draw, sentences_a_second, tell

MEASURED = {
    "file_bytes": 100.0,
    "read_seconds": 0.01,
    "load_seconds": 5.0,
    "rank_seconds": 0.09,
    "small_block_seconds": 0.1,
    "block_bytes": 1000.0,
    "part_bytes": 50.0,
    "driver_seconds": 0.02,
    "block_seconds": 0.05,
    "rate_1": 2.0,
    "rate_2": 4.0,
    "rate_4": 7.0,
}


def test_what_limits_many_machines(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    limits = sentences_a_second(MEASURED, machines=10, block=200)
    assert limits == pytest.approx(
        {
            "cores": 10 * 16 / 0.1,
            "driver": 200 / 0.02,
            "network": 10 * 1.25e9 / (100 + 1000 + 3 * 50),
        }
    )
    tell(MEASURED)
    printed = capsys.readouterr().out
    line = "4 throttled actors: 7.00 sentences/s, 3.50 times one; modelled 7.27\n"
    assert line in printed
    # 16,000 sentences a second of cores, but the driver deals out 50 blocks of 200.
    assert "blocks of 200, 100 machines: 10,000 sentences/s (driver), 27.78 hours" in printed
    assert "blocks of 2000, 100 machines: 16,000 sentences/s (cores), 17.36 hours" in printed
    draw(MEASURED, tmp_path / "scaling.svg")
    assert (tmp_path / "scaling.svg").read_text().startswith("<?xml")
