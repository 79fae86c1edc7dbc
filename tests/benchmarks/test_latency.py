"""The benchmark of latency: its lists, its clocks, its tables, and a small run of it."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.costs import peak_megabytes
from benchmarks.latency import (
    SAY_IMPORTS,
    imported,
    imports,
    main,
    of_size,
    usage,
)
from reranker.errors import RerankError
from reranker.nbest import NBest, read_nbest
from reranker.nbest.writing import list_text
from tests.service.servers import serving
from tests.test_architecture import has_compiler

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "parses.txt"


def written(lists: list[NBest], path: Path) -> Path:
    path.write_text("".join(list_text(each, n, "bllip") for n, each in enumerate(lists)))
    return path


@pytest.fixture(scope="module")
def lists() -> list[NBest]:
    return list(read_nbest(EXAMPLES))


def test_stretched_lists_are_lists_of_trees(lists: list[NBest], tmp_path: Path) -> None:
    made = of_size(lists, 80, 12, 3)
    again = list(read_nbest(written(made, tmp_path / "lists.txt")))
    lengths = [abs(len(nbest.words) - 12) for nbest in again]
    assert lengths == sorted(lengths)
    assert lengths == sorted(abs(len(nbest.words) - 12) for nbest in lists)[:3]
    for nbest, given in zip(again, made, strict=True):
        assert not nbest.rejected
        assert [each.tokens for each in nbest.candidates] == [c.tokens for c in given.candidates]
        # Trees that were not there before, beside repeated ones.
        (original,) = (every for every in lists if every.id == nbest.id)
        before = {candidate.tokens for candidate in original.candidates}
        assert len(before) < len({candidate.tokens for candidate in nbest.candidates}) < 80


def test_shorter_lists_are_the_first_candidates(lists: list[NBest]) -> None:
    (made,) = of_size(lists, 3, 12, 1)
    (original,) = (nbest for nbest in lists if nbest.id == made.id)
    assert made.candidates == original.candidates[:3]


def test_what_a_process_used() -> None:
    busy = "import time\nwhile time.process_time() < 0.4: pass\ntime.sleep(0.3)"
    used = usage([sys.executable, "-c", busy])
    assert used.processor >= 0.38
    assert used.wall > used.processor + 0.2
    assert peak_megabytes([sys.executable, "-c", "bytearray(b'x' * 300_000_000)"]) > 286
    with pytest.raises(RerankError, match="exit 2\nbad luck"):
        usage([sys.executable, "-c", "import sys; sys.stderr.write('bad luck'); sys.exit(2)"])


def test_the_modules_of_all_processes() -> None:
    program = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import this'])"
    modules = imported([sys.executable, "-c", program])
    assert {"subprocess", "this"} <= modules and "torch" not in modules


@pytest.mark.slow  # tests/test_architecture.py sees the imports of what the service shares
def test_a_service_s_first_answer_needs_no_compiler() -> None:
    body = (ROOT / "examples/short.txt").read_text()
    environment: dict[str, Any] = SAY_IMPORTS
    with serving(["ckpt/"], **environment) as server, server.client() as client:
        answer = client.post("/rerank", content=body, headers={"Content-Type": "text/plain"})
        assert answer.status_code == 200 and len(answer.json()["sentences"]) == 4
        modules = imports(line.get("event", "") for line in server.log)
    assert "torch" in modules, "the scoring process says what it imports"
    assert not has_compiler(modules)


def test_a_measure_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["lists", "speed"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.endswith(
        "no measure 'speed'; there are start, bulk, memory, lists\n"
    )


@pytest.mark.slow
def test_one_list_from_python_and_over_http(capsys: pytest.CaptureFixture[str]) -> None:
    small = ["--candidates", "2", "--words", "8", "--models", "ckpt/rnn-forward.pt"]
    assert main(["lists", "--quick", *small, "--lists", str(EXAMPLES)]) == 0
    printed = capsys.readouterr().out.partition("one list: 2 candidates x 8 words\n")[2]
    figures = dict(re.split(r"  +", line) for line in printed.splitlines())
    assert list(figures) == [
        "Python, p50, ms",
        "HTTP, p50, ms",
        "bulk, CPU-ms a list",
        "HTTP / (bulk / cores)",
    ]
    assert min(map(float, figures.values())) > 0
