"""The tables of a hostile run, and whether its targets are met."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from benchmarks.service_load.kind import Asked
from benchmarks.service_load.watching import Sleeper, Tally, UsageSample

TIMES_IDLE = 5.0
LIVE_SECONDS = 0.1
FLAT = 0.1
MOST_MEGABYTES = 1500.0
MINUTES = 15  # parts of a run, however long it is
PROMISED = {"501 malformed-http", "503 loading", "503 draining", "504 deadline"}


class Measurements(NamedTuple):
    """The measurements of a whole run."""

    seconds: float  # among hostile clients
    every: Mapping[str, float]  # seconds from one question of a kind client to its next
    idle: Mapping[str, Asked]  # kind clients alone
    among: Mapping[str, Asked]  # kind clients among hostile ones
    live: tuple[Asked, Asked]  # GET /health/live, alone and among
    hostile: Mapping[str, Counter[str]]
    samples: Sequence[UsageSample]  # among hostile clients
    end: UsageSample
    machine: Sleeper
    tally: Tally
    has_ended: bool  # the service, by itself


class Verdict(NamedTuple):
    what: str
    value: str
    is_met: bool


def targets(measured: Measurements) -> list[Verdict]:
    lost = sum(asked.lost for asked in measured.among.values())
    made = [Verdict("kind clients lose nothing", f"{lost} lost", not lost)]
    for name, asked in measured.among.items():
        times = asked.percentile(99) / measured.idle[name].percentile(99)
        what = f"p99 at most {TIMES_IDLE:g} times the idle p99, {name}"
        made.append(Verdict(what, f"{times:.1f} times", times <= TIMES_IDLE))
    live = measured.live[1]
    slow = live.percentile(99.9)
    what = f"/health/live under {1000 * LIVE_SECONDS:g} ms at p99.9, always 200"
    is_met = slow < LIVE_SECONDS and not live.lost
    made.append(Verdict(what, f"{1000 * slow:.0f} ms, {live.lost} lost", is_met))
    first, *later = megabytes_by_minute(measured)[1:]
    change = max(abs(each - first) / first for each in later) if first else 1.0
    what = f"memory flat within {100 * FLAT:g}% after the first minute"
    made.append(Verdict(what, f"{100 * change:.0f}%", change <= FLAT))
    most = max(each.megabytes for each in measured.samples)
    what = f"memory under {MOST_MEGABYTES:,.0f} MB"
    made.append(Verdict(what, f"{most:.0f} MB", most < MOST_MEGABYTES))
    errors = [status for status in measured.tally.statuses if status >= "5"]
    unpromised = sorted({*errors} - PROMISED) + sorted(set(measured.tally.errors))
    if measured.has_ended:
        unpromised.append("the service has ended")
    value = ", ".join(unpromised) or "none"
    return [*made, Verdict("no 5xx but promised ones", value, not unpromised)]


def megabytes_by_minute(measured: Measurements) -> list[float]:
    """Return the median of each fifteenth of a run: the memory that single requests hold for a
    moment may vary."""
    start, width = measured.samples[0].when, measured.seconds / MINUTES
    parts = [
        [
            each.megabytes
            for each in measured.samples
            if number <= (each.when - start) / width < number + 1
        ]
        for number in range(MINUTES)
    ]
    return [median(part) for part in parts if part]


def written(measured: Measurements) -> Iterator[str]:
    """Yield the report, line by line."""
    yield f"\n### {measured.seconds / 60:g} minutes among hostile clients\n"
    yield "| kind clients | asked | lost | p50 ms | p99 ms | slowest ms | idle p50 | idle p99 |"
    yield "|---|---|---|---|---|---|---|---|"
    for name, asked in measured.among.items():
        yield _row(name, asked, measured.idle[name])
    yield _row("GET /health/live", *reversed(measured.live))
    rates = "; ".join(f"{name}, every {every:.2g} s" for name, every in measured.every.items())
    yield f"\nEach kind client asks: {rates}."
    late = measured.machine.late
    shown = " ms, ".join(f"{1000 * late[int(share * (len(late) - 1))]:.0f}" for share in (0.999, 1))
    live = 1000 * measured.machine.without_pauses(measured.live[1]).percentile(99.9)
    yield f"A process that only sleeps woke late by {shown} ms (p99.9, most)."
    yield f"Without such pauses /health/live would have taken {live:.0f} ms (p99.9).\n"
    yield "| client | answers |\n|---|---|"
    kind = {**measured.among, "GET /health/live": measured.live[1]}
    for name, asked in kind.items():
        yield f"| {name} | {_counted(asked.answers)} |"
    for name, counted in measured.hostile.items():
        yield f"| hostile: {name} | {_counted(counted)} |"
    yield f"| all, by the service's log | {_counted(measured.tally.statuses)} |"
    yield ""
    yield from _usage(measured)
    yield ""
    yield "| target | found | |\n|---|---|---|"
    for target in targets(measured):
        yield f"| {target.what} | {target.value} | {'met' if target.is_met else 'MISSED'} |"


def _row(name: str, asked: Asked, idle: Asked) -> str:
    figures = [asked.percentile(percent) for percent in (50, 99, 100)]
    figures += [idle.percentile(percent) for percent in (50, 99)]
    shown = " | ".join(f"{1000 * figure:.1f}" for figure in figures)
    return f"| {name} | {asked.answers.total()} | {asked.lost} | {shown} |"


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{count} x {what}" for what, count in sorted(counts.items())) or "nothing"


def _usage(measured: Measurements) -> Iterator[str]:
    """Yield the table of memory, threads and descriptors."""
    width = measured.seconds / MINUTES
    after = next(
        (each for each in measured.samples if each.when >= measured.samples[0].when + width),
        measured.samples[-1],
    )
    yield "| the service | at the start | after the first minute | most | at the end |"
    yield "|---|---|---|---|---|"
    for name in ("megabytes", "threads", "descriptors"):
        moments = [getattr(each, name) for each in (measured.samples[0], after)]
        moments += [
            max(getattr(each, name) for each in measured.samples),
            getattr(measured.end, name),
        ]
        yield f"| {name} | {' | '.join(f'{each:,.0f}' for each in moments)} |"
    minutes = ", ".join(f"{each:.0f}" for each in megabytes_by_minute(measured))
    yield f"\nMedian megabytes in each fifteenth of the time: {minutes}"
