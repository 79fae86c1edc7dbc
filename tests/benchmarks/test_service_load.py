"""The service under load: how answers are judged, and small runs of both modes."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import pytest

from benchmarks.service_load.attacks import ATTACKS, GROUPS
from benchmarks.service_load.bombs import BOMBS, LARGEST, PRODUCTS
from benchmarks.service_load.hostile import with_answers
from benchmarks.service_load.kind import Asked, KindClient, Question, ask, is_right
from benchmarks.service_load.report import Measurements, megabytes_by_minute, targets, written
from benchmarks.service_load.watching import Sleeper, Tally, UsageSample, sleep_lightly, usage
from reranker.nbest import read_nbest
from tests.answering import Answers, answering
from tests.service.servers import serving
from tests.waiting import until

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "parses.txt"
MODEL = "ckpt/doc/doc-1.pt"


def found(**changes: object) -> Measurements:
    """Return a quiet run of 15 "minutes" of a second each, with one sample in each."""
    kind = Asked(Counter({"200": 100}), [0.1] * 100, [0.0] * 100)
    live = Asked(Counter({"200": 2000}), [0.01] * 2000, [0.0] * 2000)
    samples = [UsageSample(1000.5 + number, 500.0, 12, 30) for number in range(15)]
    run = Measurements(
        seconds=15,
        every={"tiny": 2.5},
        idle={"tiny": kind},
        among={"tiny": kind},
        live=(live, live),
        hostile={"bombs": Counter({"422": 3})},
        samples=samples,
        end=samples[-1],
        machine=Sleeper([0.001] * 999 + [0.05], [(50.0, 50.05)]),
        tally=Tally(),
        has_ended=False,
    )
    return run._replace(**changes)  # type: ignore[arg-type]


def missed(run: Measurements) -> list[str]:
    return [f"{each.what}: {each.value}" for each in targets(run) if not each.is_met]


def test_a_quiet_run_meets_every_target() -> None:
    assert missed(found()) == []
    report = "\n".join(written(found()))
    assert "| tiny | 100 | 0 | 100.0 | 100.0 | 100.0 | 100.0 | 100.0 |" in report
    assert "Each kind client asks: tiny, every 2.5 s." in report
    assert "woke late by 1 ms, 50 ms (p99.9, most)" in report
    assert "| hostile: bombs | 3 x 422 |" in report
    assert "| megabytes | 500 | 500 | 500 | 500 |" in report


def test_what_misses_a_target() -> None:
    lost = Asked(Counter({"200": 99, "429": 1}), [0.1] * 99, [0.0] * 99)
    assert missed(found(among={"tiny": lost})) == ["kind clients lose nothing: 1 lost"]
    slow = Asked(Counter({"200": 100}), [0.1] * 98 + [0.51] * 2, [0.0] * 100)
    assert missed(found(among={"tiny": slow})) == [
        "p99 at most 5 times the idle p99, tiny: 5.1 times"
    ]
    late = Asked(Counter({"200": 2000}), [0.01] * 1997 + [0.2] * 3, [0.0] * 2000)
    assert missed(found(live=(late, late))) == [
        "/health/live under 100 ms at p99.9, always 200: 200 ms, 0 lost"
    ]
    growing = [UsageSample(1000.5 + n, 400.0 + 10 * n, 12, 30) for n in range(15)]
    assert missed(found(samples=growing)) == [
        "memory flat within 10% after the first minute: 32%"  # from 410 to 540
    ]
    fat = [UsageSample(1000.5 + n, 1600.0, 12, 30) for n in range(15)]
    assert missed(found(samples=fat)) == ["memory under 1,500 MB: 1600 MB"]


def test_5xx_that_are_not_promised() -> None:
    tally = Tally()
    tally.statuses.update({"200": 9, "504 deadline": 1, "503 draining": 1, "501 malformed-http": 1})
    assert missed(found(tally=tally)) == []
    tally.statuses["500 internal"] += 1
    tally.errors.append("internal error: KeyError at here")
    assert missed(found(tally=tally, has_ended=True)) == [
        "no 5xx but promised ones: 500 internal, internal error: KeyError at here, "
        "the service has ended"
    ]


def test_percentiles_are_nearest_ranks() -> None:
    asked = Asked(Counter(), [float(number) for number in range(1000, 0, -1)], [0.0] * 1000)
    assert [asked.percentile(each) for each in (50, 99, 99.9, 100)] == [500, 990, 999, 1000]


def test_times_without_the_pauses_of_the_machine() -> None:
    sleeper = Sleeper([], [(1.0, 1.5), (2.0, 4.0), (7.0, 9.0)])
    due = [0.5, 1.25, 1.5, 2.5, 4.0, 6.0]
    asked = Asked(Counter(), [0.25, 1.0, 0.25, 0.5, 4.0, 9.0], due)
    assert sleeper.without_pauses(asked).seconds == [0.25, 0.5, 0.25, 0.0, 3.0, 7.0]


def test_a_sleeper_wakes_all_the_time() -> None:
    since = time.monotonic()
    sleeper = sleep_lightly(since, since + 0.1)
    assert 20 <= len(sleeper.late) <= 21 and sleeper.late[0] >= 0
    assert all(start < end for start, end in sleeper.pauses)
    assert all(end <= later for (_, end), (later, _) in pairwise(sleeper.pauses))


def test_each_fifteenth_of_the_time_has_its_median() -> None:
    samples = [
        UsageSample(100 + 0.25 * n, [10.0, 90.0, 30.0, 40.0][n % 4], 1, 1) for n in range(60)
    ]
    assert megabytes_by_minute(found(samples=samples)) == [35.0] * 15


class Slow(Answers):
    """A server that answers the second request after half a second, the third with 429."""

    protocol_version = "HTTP/1.1"
    requests: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.requests.append(self.client_address[0])
        if len(self.requests) == 2:
            time.sleep(0.5)
        self.answer(status=429 if len(self.requests) == 3 else 200)


def test_a_late_answer_counts_from_when_it_was_due() -> None:
    with answering(Slow) as port:
        since = time.monotonic()
        client = KindClient("127.0.0.9", 0.1, [Question("/")])
        asked = ask([client], port, since, since + 0.45)
    assert asked.answers == {"200": 4, "429": 1} and asked.lost == 1
    _, second, fourth, fifth = asked.seconds
    assert second >= 0.5  # due at 0.1, answered at 0.6
    assert fourth >= 0.3 and fifth >= 0.2  # due at 0.3 and at 0.4, and answered after that
    assert set(Slow.requests) == {"127.0.0.9"}


def test_nobody_answers() -> None:
    since = time.monotonic()
    asked = ask([KindClient("127.0.0.9", 0.1, [Question("/")])], 1, since, since + 0.15)
    assert asked.answers == {"no answer (ConnectionRefusedError)": 2} and asked.lost == 2


def test_usage_is_that_of_children_too() -> None:
    nested = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()'])"
    with subprocess.Popen([sys.executable, "-c", nested], stdin=subprocess.PIPE) as process:
        until(lambda: usage(process.pid).threads == 2)
        both = usage(process.pid)
        assert both.descriptors >= 6 and both.megabytes > 10
        process.communicate(b"\n")
    assert usage(process.pid)[1:] == (0, 0, 0)


@pytest.mark.slow
def test_wrong_answers_are_seen() -> None:
    lists = list(read_nbest(EXAMPLES))[:3]
    questions = with_answers(lists, [MODEL])
    with serving([MODEL]) as server, server.client() as client:
        for question in (questions.tiny[0], questions.medium[0]):
            headers = {"Content-Type": "text/plain"}
            answer = client.post(question.path, content=question.body, headers=headers)
            assert answer.status_code == 200
            assert is_right(answer.content, question.rows)
            assert not is_right(answer.content, question.rows[1:])
            wrong = json.loads(answer.content)
            wrong["sentences"][-1]["ranking"][0]["relevance_score"] += 1e-13
            assert not is_right(json.dumps(wrong).encode(), question.rows)
    assert [len(each.rows) for each in questions.huge] == [34, 34]


def test_bombs_are_as_large_as_the_service_would_read() -> None:
    """Larger ones it would not even look at."""
    for name, bomb in BOMBS.items():
        assert 190_000 <= len(bomb().body) <= LARGEST, name
    empty = json.loads(BOMBS["a million empty documents"]().body)
    assert len(empty["documents"]) > 1_000_000


def test_products_are_short() -> None:
    for name, bomb in PRODUCTS.items():
        assert 9_000 <= len(bomb().body) <= 37_000, name


def test_every_attack_has_a_process() -> None:
    assert sorted(name for group in GROUPS for name in group) == sorted(ATTACKS)


@pytest.mark.slow
def test_a_few_seconds_of_everything() -> None:
    command = [sys.executable, "-m", "benchmarks.service_load", str(EXAMPLES)]
    command += ["--hostile", "--minutes", "0.2", "--models", MODEL]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.stderr == "", done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("|")]
    answers = dict(line.strip("| ").split(" | ") for line in lines if line.count(" | ") == 1)
    for name in ATTACKS:
        assert answers[f"hostile: {name}"] != "nothing", name
    assert "422" in answers["hostile: bombs"] and "400" in answers["hostile: malformed"]
    assert " 200" in answers["tiny: 5 x 10 words"] and "wrong" not in done.stdout
    assert answers["GET /health/live"].endswith(" x 200")
    # The speed depends on the machine's other work.
    are_missed = [line for line in lines if line.endswith("| MISSED |")]
    assert not any("5xx" in line or "MB" in line for line in are_missed)
    assert done.returncode == bool(are_missed)
