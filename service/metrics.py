"""Metrics for Prometheus, as ``/metrics`` shows them."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from functools import partial
from importlib.metadata import version

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)

from reranker.ranking import Ranking
from reranker.ranking.ranker import Ranker
from reranker.service import VERSION
from reranker.service.errors import Lost

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
_TOKENS = (100, 300, 1000, 3000, 10_000, 20_000, 40_000, 60_000, 100_000)


class Metrics:
    """The counters of one service, in a registry of their own."""

    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        counter = partial(Counter, namespace="rerank", registry=registry)
        gauge = partial(Gauge, namespace="rerank", registry=registry)
        histogram = partial(Histogram, namespace="rerank", registry=registry, buckets=_SECONDS)
        self.requests = counter("requests", "Requests answered", ("path", "method", "status"))
        self.key_requests = counter("key_requests", "Requests by label of key", ("key", "status"))
        self.latency = histogram("request_seconds", "Time from arrival to answer", ("path",))
        self.in_flight = gauge("requests_in_flight", "Requests accepted and not yet answered")
        self.dropped = counter("dropped", "Requests cancelled by client or deadline", ("reason",))
        self.ready = gauge("ready", "1 if requests are accepted and can be scored, else 0")
        self.engines_ready = gauge("engines_ready", "Scoring children that can score now")
        self.connections = gauge("connections", "Open connections")
        self.refused_connections = counter(
            "closed_connections", "Connections closed because there were too many", ("reason",)
        )
        self.reading_busy = gauge("reading_busy", "Children that read a body now", ("pool",))
        self.reading_waiting = gauge(
            "reading_waiting", "Bodies that wait for such a child", ("pool",)
        )
        self.unread = counter("cancelled_readings", "Bodies whose reading was cancelled")
        self.parsing_sentences = gauge("parsing_sentences", "Sentences waiting for a parser")
        self.parser_seconds = histogram("parser_seconds", "Time of a parser for one sentence")
        self.queue_requests = gauge("queue_requests", "Requests waiting for the device")
        self.queue_tokens = gauge("queue_tokens", "Tokens waiting for the device")
        self.limit = gauge("limit", "Limits of the settings, as /info shows them", ("setting",))
        self.queue_wait = histogram("queue_wait_seconds", "Time waiting for the device")
        self.unscored = counter("cancelled_tokens", "Tokens that waited and were cancelled")
        self.batch_tokens = histogram("batch_tokens", "Tokens scored in one call", buckets=_TOKENS)
        self.batch_requests = histogram(
            "batch_requests", "Requests scored in one call", buckets=(1, 2, 4, 8, 16, 32, 64, 128)
        )
        self.scoring = histogram("scoring_seconds", "Time of one scoring call")
        self.sentences = counter("sentences", "Sentences ranked")
        self.candidates = counter("candidates", "Candidates ranked")
        self.rejected = counter("rejected", "Candidates rejected", ("code",))
        self.words = counter("words", "Words in ranked sentences")
        self.unknown_words = counter("unknown_words", "Words unknown to a model")
        self.stopped = counter("stopped_batches", "Scoring calls stopped because nobody waited")
        self.paused = counter("paused_batches", "Times a scoring call was paused for others")
        self.child_restarts = counter(
            "child_restarts", "Children that ended, hung or failed, and were restarted", ("child",)
        )
        self.hung_children = counter(
            "hung_children", "Children that were killed because they made no progress", ("child",)
        )
        for child in ("scoring", "reading"):
            self.child_restarts.labels(child)
            self.hung_children.labels(child)
        self.memory_retries = counter("memory_retries", "Batches halved for lack of memory")
        self.reloads = counter("model_reloads", "Attempts to reload the models", ("result",))
        for result in ("done", "failed"):  # Prometheus sees no increase from nothing to 1
            self.reloads.labels(result)
        self.device_memory = gauge(
            "device_memory_bytes", "Memory in use on GPUs, else in RAM, where scores are computed"
        )
        self.memory = gauge("memory_bytes", "Resident memory of the processes", ("process",))
        self.models = gauge("model_info", "1 for a model in use", ("name", "sha256"))
        build = gauge(
            "build_info",
            "Versions of the service, torch and Python",
            ("version", "torch", "python"),
        )
        build.labels(VERSION, version("torch"), platform.python_version()).set(1)

    def use_models(self, reranker: Ranker) -> None:
        """Show the models of ``reranker`` and no others."""
        self.models.clear()
        for member in reranker.members:
            self.models.labels(member.name, member.sha256).set(1)

    def child_ended(self, child: str, why: BaseException) -> None:
        """Count a child that ended without being asked to, or failed."""
        self.child_restarts.labels(child).inc()
        if isinstance(why, Lost) and why.has_hung:
            self.hung_children.labels(child).inc()

    def scored(self, tokens: int, requests: int, seconds: float) -> None:
        """Count one scoring call."""
        self.batch_tokens.observe(tokens)
        self.batch_requests.observe(requests)
        self.scoring.observe(seconds)

    def ranked(self, rankings: Iterable[Ranking], words: int) -> None:
        """Count the rankings of an answer, whose sentences have ``words`` words."""
        self.words.inc(words)
        for ranking in rankings:
            self.sentences.inc()
            self.candidates.inc(len(ranking.ranking))
            if ranking.best is not None:
                self.unknown_words.inc(ranking.best.unknown_words)
            for candidate in ranking.rejected:
                self.rejected.labels(candidate.code).inc()

    def text(self) -> bytes:
        """Return the metrics in Prometheus's text format."""
        return generate_latest(self._registry)
