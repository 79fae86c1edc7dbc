"""The queue, without engines: tests say when a slot takes what."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from reranker.nbest import NBest
from reranker.nbest.data import Origin, RawCandidate, RawList, Sentence
from reranker.nbest.faithful import ReadingRules, accept
from reranker.nbest.notation import Notation
from reranker.ranking import Weighing
from reranker.service.children.scoring import Best
from reranker.service.errors import RequestError
from reranker.service.metrics import Metrics
from reranker.service.scheduling.queue import Queue
from reranker.service.scheduling.slots import EngineSlots, Slot
from reranker.service.scheduling.work import AHEAD, Kind, Work
from reranker.service.settings import Settings
from reranker.text.reading import TextSentence

RULES = ReadingRules("test", Notation.BRACKETS, False)


def nbest(name: str, *trees: str) -> NBest:
    return accept(RawList(name, 1, [RawCandidate(1, tree) for tree in trees]), RULES)


def queue_of(speed: float, **settings: float) -> Queue:
    """Return a queue without threads, so that tests choose when a slot takes work."""
    given = {"models": ["none"], "threads": 1, **settings}
    made = Queue(Settings.model_validate(given), Metrics())
    made.costs.speed, made.batch_wait = speed, 0.0
    return made


def asked(client: str, *sizes: int, seconds: float = 1000) -> Work:
    """Request one-tree lists with so many tokens each."""
    words = (" ".join(f"(NN w{n})" for n in range(size - 3)) for size in sizes)
    lists = [nbest(f"{client}{n}", f"(S1 (S {text}))") for n, text in enumerate(words)]
    return Work(MODELS, lists, time.monotonic() + seconds, client)


def queue_that_scores(busy: Work) -> Queue:
    """Return a queue with three lists, one after another; ``busy2`` is in the slot."""
    queue = queue_of(80)
    queue.costs.learn_first(80, 1)
    queue.add(busy)
    assert [taken(queue) for _ in range(3)] == [["busy0"], ["busy1"], ["busy2"]]
    return queue


MODELS: Any = object()


def taken(queue: Queue, slot: Slot | None = None) -> list[str]:
    """Return the lists of a slot's next batch, by default the main slot's."""
    pieces = (piece.what for piece in queue.next_batch(slot or slots(queue).main))
    return [what.id if isinstance(what, NBest) else what.origin.text for what in pieces]


def slots(queue: Queue) -> EngineSlots:
    """Return the slots of the queue's only engine."""
    return queue.engines[0]


def finish(queue: Queue, slot: Slot) -> None:
    """Finish the slot's batch, for which nothing waits."""
    queue.drop(slot, all_waiting=False)


def test_clients_take_turns_whatever_they_ask_for() -> None:
    """40 tokens a batch: one client asks for much, another twice for less, a third comes later."""
    queue = queue_of(80)
    for work in (asked("a", *[20] * 6), asked("b", *[20] * 3), asked("b", *[20] * 3)):
        queue.add(work)
    assert [taken(queue) for _ in range(3)] == [["a0", "b0"], ["b0", "a1"], ["b1", "a2"]]
    queue.add(asked("c", *[20] * 6))  # and has no claim to the service that others got before
    assert [taken(queue) for _ in range(3)] == [["b1", "c0"], ["a3", "b2"], ["c1", "a4"]]


def test_a_batch_wants_the_same_scores() -> None:
    """All scores, the best under one weighing, or the best under another."""
    queue = queue_of(1000)
    one, other = Best(Weighing(), 1), Best(Weighing(lm_weight=0.5), 1)
    for client, best in (("a", None), ("b", one), ("c", other), ("d", one)):
        work = asked(client, 20)
        work.best = best
        queue.add(work)
    assert [taken(queue) for _ in range(3)] == [["a0"], ["b0", "d0"], ["c0"]]


def test_all_of_a_list_that_is_cut_is_scored() -> None:
    """What is best of a part need not be best of the list."""
    two = nbest("", "(S (NN a))", "(S (NP (NN a)))")
    best = Best(Weighing(), 1)
    whole, cut = (
        Work(MODELS, [two], 0.0, best=best, most_tokens=most_tokens) for most_tokens in (100, 4)
    )
    assert (len(whole.pieces), whole.best) == (1, best)
    assert (len(cut.pieces), cut.best) == (2, None)


def text(client: str, sentences: int) -> Work:
    """Request so many sentences of two words, whose trees are expected to have 6 tokens."""
    words = Sentence(("It", "runs"))
    given = [TextSentence(words, Origin("", 0, f"{client}{n}", ())) for n in range(sentences)]
    deadline = time.monotonic() + 1000
    return Work(MODELS, (), deadline, client, sentences=given, candidates=1)


class Arriving:
    """Condition of a slot for which a request arrives each time when it would wait."""

    def __init__(self, queue: Queue, *arriving: Work) -> None:
        self._queue, self._arriving = queue, [*arriving]
        self.timeouts: list[float | None] = []

    def wait_for(self, predicate: Callable[[], object], timeout: float | None = None) -> bool:
        self.timeouts.append(timeout)
        while not predicate():
            self._queue.add(self._arriving.pop(0))
        return True

    def notify(self) -> None:
        """Do nothing: nobody waits."""


def test_clients_that_were_scored_together_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two took part in a batch. The wait ends once both have asked again; it is 0.15 of the
    batch's time, at most 0.03 s."""
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    queue = queue_of(80)
    main = slots(queue).main
    for client in ("a", "b"):
        queue.add(asked(client, 10))
    assert taken(queue) == ["a0", "b0"]
    for seconds, expected in ((0.1, 0.015), (1, 0.03)):
        main.begun -= seconds
        waiting = Arriving(queue, asked("a", 10), asked("b", 10), asked("c", 10))
        monkeypatch.setattr(main, "changed", waiting)
        assert taken(queue) == ["a0", "b0"]
        assert waiting.timeouts == [None, pytest.approx(expected)]


def test_a_lone_client_is_not_kept_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    queue = queue_of(80)
    main = slots(queue).main
    queue.add(asked("a", 10))
    assert taken(queue) == ["a0"]
    main.begun -= 1
    monkeypatch.setattr(main, "changed", Arriving(queue, asked("a", 10), asked("b", 10)))
    assert taken(queue) == ["a0"]


def test_a_long_text_takes_turns_with_lists() -> None:
    """40 tokens a batch, which lists and sentences do not share."""
    queue = queue_of(80)
    queue.add(text("a", 100))
    assert taken(queue) == [f"a{n}" for n in range(6)]
    queue.add(asked("b", *[20] * 3))
    assert [taken(queue) for _ in range(4)] == [
        [f"a{n}" for n in range(6, 12)],
        ["b0", "b1"],
        [f"a{n}" for n in range(12, 18)],
        ["b2"],
    ]


def test_only_so_much_of_a_text_is_parsed_ahead() -> None:
    queue = queue_of(1000)
    work = text("a", 100)
    queue.add(work)
    assert taken(queue) == [f"a{n}" for n in range(AHEAD)]
    assert queue.sentences == 100 - AHEAD
    queue.add(asked("a", 20))  # of the same client, which waits for nothing
    assert taken(queue) == ["a0"]
    queue.deliver(work, 2)
    assert taken(queue) == [f"a{n}" for n in (AHEAD, AHEAD + 1)]
    queue.remove(work)
    assert queue.sentences == 0


def test_a_text_is_refused_if_it_would_be_late_not_for_its_length() -> None:
    """Alone it is always admitted; lists may hold no more tokens than there is room for."""
    queue = queue_of(80, queue_tokens=100)
    queue.add(text("a", 1000))
    queue.add(asked("b", 20))  # for which the text leaves all of the room
    with pytest.raises(RequestError) as caught:
        late = text("c", 1000)
        late.deadline = time.monotonic() + 60
        queue.add(late)
    assert (caught.value.status, caught.value.code) == (429, "queue-full")


def test_who_comes_back_has_what_it_had() -> None:
    """A list a batch, 80 tokens ahead: a client that asks repeatedly is not new each time."""
    queue = queue_of(80)
    queue.costs.learn_first(80, 1)
    queue.add(asked("busy", *[41] * 20))
    for turn in range(4):
        queue.add(asked("again", 41))
        assert {*taken(queue), *taken(queue)} == {f"busy{turn}", "again0"}
    assert [taken(queue) for _ in range(3)] == [["busy4"], ["busy5"], ["busy6"]]
    queue.add(asked("again", *[41] * 3))  # after a while it is
    assert [taken(queue) for _ in range(3)] == [["again0"], ["again1"], ["busy7"]]


def test_the_shortest_list_counts_as_what_it_takes() -> None:
    """It counts as much as one of 60 tokens: six of a flood are scored while five of 75 are."""
    queue = queue_of(80)
    queue.costs.learn_first(40, 0.5, 60 / 80)
    queue.add(asked("long", *[75] * 20))
    for _ in range(30):
        queue.add(asked("short", 10))
    order = [name for _ in range(22) for name in taken(queue)]
    short = order.count("short0")
    assert abs(60 * short - 75 * (len(order) - short)) <= 75


def test_turns_are_counted_in_tokens() -> None:
    queue = queue_of(120)
    for work in (asked("a", *[40] * 3), asked("b", *[10] * 9)):
        queue.add(work)
    assert taken(queue) == ["a0", "b0", "b1"]
    assert taken(queue) == ["b2", "b3", "a1"]


def test_batches_take_half_a_second() -> None:
    """The size follows from the speed measured last."""
    queue = queue_of(100)
    queue.add(asked("a", *[20] * 20))
    assert len(taken(queue)) == 2
    queue.costs.learn_speed(40, 0.1)
    assert queue.costs.speed == pytest.approx(190)
    assert len(taken(queue)) == 4
    assert (queue.costs.batch_tokens, queue.costs.piece_tokens) == (95, 380)


def test_each_kind_of_work_has_a_speed() -> None:
    """40 list tokens a batch: the six of a sentence take as long as two, and later as 2.5."""
    queue, work = queue_of(80), text("a", 100)
    queue.costs.learn_kind(work.kind, 6, 2 / 80)
    queue.add(work)
    assert len(taken(queue)) == 20
    queue.deliver(work, 20)
    queue.costs.learn_speed(6, 1, work.kind)  # small batches are slower
    assert len(taken(queue)) == 20
    queue.deliver(work, 40)
    queue.costs.learn_speed(120, 1.5, work.kind)
    assert len(taken(queue)) == 16
    assert queue.costs.speed == 80


@pytest.mark.parametrize(("batch_tokens", "lists"), [(1000, 12), (50, 5)])
def test_lists_whose_best_are_wanted_have_another_speed(batch_tokens: int, lists: int) -> None:
    """Three times as many take half a second, if so many tokens are allowed in a batch."""
    queue = queue_of(80, batch_tokens=batch_tokens)
    queue.costs.learn_kind(Kind(is_text=False, is_best=True), 30, 10 / 80)
    best, every = asked("best", *[10] * 30), asked("every", *[10] * 30)
    best.best = Best(Weighing(), 1)
    queue.add(best)
    queue.add(every)
    assert [len(taken(queue)) for _ in range(2)] == [lists, 4]


def test_a_faster_kind_is_refused_later() -> None:
    """Five minutes may pass before a text whose 60,000 tokens take 750 s, or a third of that."""
    for cost, is_admitted in ((1, False), (3, True)):
        queue, late = queue_of(80), text("late", 10_000)
        queue.costs.learn_kind(late.kind, 80 * cost, 1)
        queue.add(text("a", 10_000))
        late.deadline = time.monotonic() + 600
        with contextlib.nullcontext() if is_admitted else pytest.raises(RequestError):
            queue.add(late)


def test_slower_models_get_smaller_batches() -> None:
    """A first list may take three times as long because of others scored beside it."""
    queue = queue_of(100)
    queue.costs.learn_first(100, 1)
    queue.costs.learn_again(100, 3)
    queue.costs.speed = 0
    assert queue.costs.batch_tokens == 25
    queue.costs.learn_again(100, 30)
    assert queue.costs.batch_tokens == 2
    queue.costs.learn_again(100, 1)
    assert queue.costs.batch_tokens == 25


def test_very_small_requests_need_no_long_batch_to_end() -> None:
    """At 200 tokens a second these are up to 10."""
    queue = queue_of(200)
    queue.add(asked("huge", *[70] * 10))
    assert taken(queue) == ["huge0"]
    for work in (asked("not small", 25), asked("small", 10), asked("other", 10)):
        queue.add(work)
    assert taken(queue, slots(queue).small) == ["small0", "other0"]
    queue.add(asked("more", 10))
    assert taken(queue) == ["huge1", "not small0"]
    assert taken(queue, slots(queue).small) == ["more0"]
    finish(queue, slots(queue).small)
    queue.add(asked("new", 10))
    assert taken(queue) == ["huge2"]  # smaller lists have another slot
    assert taken(queue, slots(queue).small) == ["new0"]
    queue.add(asked("last", 10))
    assert taken(queue) == ["last0"]  # it has not, and its client was given least
    finish(queue, slots(queue).small)
    queue.add(asked("again", 10))  # waits: similar lists are scored together
    assert not queue._next(slots(queue).small, None)


def test_very_small_texts_join_short_batches_of_texts() -> None:
    """At 120 tokens a second short batches of sentences have up to 30, and they are for who comes
    first; a sentence has six, and a request of up to six is very small."""
    queue = queue_of(120)
    queue.costs.learn_first(120, 1)
    for work in (text("new", 3), text("small", 1), text("newer", 4)):
        queue.add(work)
    assert taken(queue) == ["new0", "small0", "newer0", "new1", "newer1"]
    queue.add(text("more", 1))
    assert not queue._next(slots(queue).small, None)  # waits for the next batch
    queue.add(asked("list", 6))
    assert queue._next(slots(queue).small, None)  # lists do not
    assert taken(queue, slots(queue).small) == ["list0"]
    assert taken(queue) == ["more0", "new2", "newer2", "newer3"]


def test_very_small_requests_wait_for_nobody_beside_a_long_batch() -> None:
    """Nor for those who come first and pause it; at 80 tokens a second they are up to 4."""
    queue = queue_that_scores(asked("busy", *[41] * 20))
    queue.add(asked("new", 11))
    assert taken(queue, slots(queue).first) == ["new0"]
    queue.add(asked("small", 4))
    assert queue._next(slots(queue).small, None)
    assert taken(queue, slots(queue).small) == ["small0"]


def test_only_slots_that_might_take_something_are_woken(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two others score beside larger work alone; nobody is needed when nothing waits."""
    queue, woken = queue_of(200), list[int]()
    for slot in queue.slots:
        monkeypatch.setattr(slot.changed, "notify", partial(woken.append, slot.place))

    def woken_by(act: Callable[[], object]) -> set[int]:
        woken.clear()
        act()
        return {*woken}

    main = slots(queue).main
    assert woken_by(lambda: queue.add(asked("short", 10))) == {0}
    assert woken_by(lambda: taken(queue)) == {0}
    assert woken_by(lambda: queue.add(asked("short", 10))) == {0}
    assert taken(queue) and woken_by(lambda: finish(queue, main)) == set()
    assert woken_by(lambda: queue.add(asked("long", *[90] * 3))) == {0}
    assert woken_by(lambda: taken(queue)) == {0, 1, 2}
    assert woken_by(lambda: queue.add(asked("short", 10))) == {0, 1, 2}
    queue.costs.learn_first(200, 1)
    queue.drop(main, all_waiting=True)
    queue.add(asked("short, not very small", 15))
    assert taken(queue) and not main.may_pause
    assert woken_by(lambda: queue.add(asked("short", 10))) == {0, 1, 2}


def test_a_flood_of_very_small_requests_does_not_come_before_others() -> None:
    """Twenty of them are ahead of others by a second."""
    queue = queue_of(200)
    queue.costs.learn_first(200, 1)
    queue.add(asked("huge", *[140] * 10))
    assert [taken(queue) for _ in range(3)] == [["huge0"], ["huge1"], ["huge2"]]
    passed = 0
    for _ in range(60):
        queue.add(asked("flood", 10))
    while queue._next(slots(queue).small, None):
        passed += len(taken(queue, slots(queue).small))
    assert 40 <= passed <= 45
    assert taken(queue) == ["huge3"]
    assert queue._next(slots(queue).small, None)


def test_others_are_paused_for_who_comes_first() -> None:
    """A list a batch, 80 tokens ahead."""
    queue = queue_that_scores(asked("busy", *[41] * 20))
    assert not queue._next(slots(queue).first, None)
    queue.add(asked("new", 24))
    queue.add(asked("newer", 24))
    assert taken(queue, slots(queue).first) == ["new0"]
    assert slots(queue).main.cancellation.is_paused
    assert not queue._next(slots(queue).main, None)  # lists that end meanwhile wait, too
    assert taken(queue, slots(queue).first) == ["newer0"]
    assert slots(queue).main.cancellation.is_paused
    time.sleep(0.01)
    finish(queue, slots(queue).first)
    assert not slots(queue).main.cancellation.is_paused
    assert slots(queue).main.paused_seconds >= 0.01
    assert taken(queue) == ["busy3"]
    assert slots(queue).main.paused_seconds == 0


def test_who_comes_first_waits_for_who_does_too() -> None:
    queue = queue_that_scores(asked("busy", *[41] * 20))
    queue.add(asked("new", 41, 41))
    assert taken(queue) == ["new0"]
    queue.add(asked("newer", 41))
    assert not queue._next(slots(queue).first, None)
    assert [taken(queue) for _ in range(3)] == [["newer0"], ["new1"], ["busy3"]]
    queue.add(asked("long", 81))  # more than it has ahead
    assert taken(queue) == ["long0"]
    queue.add(asked("newest", 41))
    assert not queue._next(slots(queue).first, None)


def test_very_small_batches_are_not_paused() -> None:
    """They have 8 tokens, where 80 are a second."""
    queue = queue_that_scores(asked("busy", *[41] * 3))
    queue.add(asked("busy", 8))
    assert taken(queue) == ["busy0"]
    queue.add(asked("new", 41))
    assert not queue._next(slots(queue).first, None)


def test_nothing_is_paused_for_ever() -> None:
    """After two seconds no other client goes first, however many new ones come."""
    queue = queue_that_scores(asked("busy", *[41] * 20))
    queue.add(asked("new", 24))
    assert taken(queue, slots(queue).first) == ["new0"]
    queue.add(asked("newer", 24))
    assert queue._next(slots(queue).first, None)
    main = slots(queue).main
    assert main._since is not None
    main._since -= 11
    assert not queue._next(slots(queue).first, None)
    finish(queue, slots(queue).first)
    assert not queue._next(slots(queue).first, None)
    assert taken(queue) == ["newer0"]


def test_who_gives_up_does_not_keep_others_paused() -> None:
    queue = queue_that_scores(asked("busy", *[41] * 20))
    new = asked("new", 24, 24)
    queue.add(new)
    assert taken(queue, slots(queue).first) == ["new0"]
    new.is_cancelled = True
    queue.remove(new)
    assert slots(queue).first.cancellation.is_cancelled and slots(queue).main.cancellation.is_paused
    finish(queue, slots(queue).first)
    assert not slots(queue).main.cancellation.is_paused


def test_who_comes_first_does_not_wait_for_others_pieces() -> None:
    """200 tokens ahead in batches of 30; then half as many are a batch."""
    queue = queue_of(200)
    queue.costs.learn_first(200, 1)
    queue.add(asked("busy", *[25] * 30))
    assert [len(taken(queue)) for _ in range(10)] == [1, 1, 1, 1, 1, 1, 1, 1, 4, 4]
    queue.add(asked("new", 17, 13))
    assert taken(queue) == ["new0", "new1"]
    assert taken(queue) == ["busy16", "busy17", "busy18", "busy19"]


def test_a_long_tree_takes_as_long_as_it_is() -> None:
    """100 tokens a second, of one tree only 20: 12 tokens take 0.6 seconds."""
    queue = queue_that_scores(asked("busy", *[41] * 20))
    queue.costs.learn_first(100, 1, shortest=0.01, step=0.05)
    queue.add(asked("long tree", 12))
    for slot in (slots(queue).first, slots(queue).small):
        assert not queue._next(slot, None)
    queue.add(asked("short trees", 6, 6))
    assert taken(queue, slots(queue).first) == ["short trees0"]
    finish(queue, slots(queue).first)
    assert taken(queue) == ["long tree0"]


def test_what_waits_is_shared() -> None:
    """A client may hold 75 of 100 tokens, and another then three quarters of the rest."""
    queue = queue_of(1000, queue_tokens=100)
    queue.add(asked("a", 40))
    queue.add(asked("a", 35))
    for client, size in (("a", 10), ("b", 19)):
        with pytest.raises(RequestError) as caught:
            queue.add(asked(client, size))
        assert (caught.value.status, caught.value.code) == (429, "queue-full")
    queue.add(asked("b", 18))


def test_retry_after_is_true(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that returns after the stated time is admitted; much sooner it is not."""
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    queue = queue_of(10)
    queue.add(asked("a", *[5] * 20))  # ten seconds of work
    late = asked("b", *[5] * 10, seconds=8)
    with pytest.raises(RequestError) as caught:
        queue.add(late)
    wait = int(caught.value.headers["Retry-After"])
    assert wait == 6  # until only the 4 s that are allowed are left of the ten

    def passed(seconds: int) -> Queue:
        other = queue_of(10)
        rest = 20 - 2 * seconds
        other.add(asked("a", *[5] * rest))
        return other

    passed(wait).add(late)
    with pytest.raises(RequestError):
        passed(wait - 2).add(late)


def test_cancelled_and_late_requests_are_not_scored() -> None:
    queue = queue_of(80)
    cancelled, late, other = (asked(name, 10) for name in ("cancelled", "late", "other"))
    for work in (cancelled, late, other):
        queue.add(work)
    cancelled.is_cancelled = True
    queue.remove(cancelled)
    late.deadline = time.monotonic() - 1
    assert taken(queue) == ["other0"]
    assert queue.tokens == 0


def test_who_would_wait_beyond_the_deadline_is_refused_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A second of work would come before theirs, and half of the time may be spent waiting."""
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    queue = queue_of(10)
    queue.add(asked("long", *[5] * 20))
    for seconds in (0.2, 1.9):
        with pytest.raises(RequestError) as caught:
            queue.add(asked("hasty", 10, seconds=seconds))
        assert (caught.value.status, caught.value.code) == (429, "queue-full")
    queue.add(asked("patient", 10, seconds=2.1))
