"""``rerank serve`` with an ensemble that misbehaves on command, to see how the service bears it.

In a list, the word ``crash`` raises, ``die`` ends the thread, ``late`` lets an hour pass on the
server's clock, and ``wait:FILE`` waits until there is such a file, or nobody waits for the list.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from reranker import Reranker
from reranker.nbest import NBest
from reranker.process.cancellation import Cancellation
from reranker.ranking import Criterion, Scored
from reranker.scoring.lanes import Lanes
from reranker.service import logs, server
from reranker.service.http.app import create_app
from reranker.service.settings import add_arguments, load_settings

REAL_TIME = time.monotonic
passed = 0.0  # seconds, besides the real ones


class Fragile(Reranker):
    def score_lists(
        self,
        lists: Iterable[NBest],
        criterion: Criterion = "perplexity",
        token_scores: bool = False,
        cancellation: Cancellation | None = None,
        lanes: Lanes | None = None,
    ) -> Iterator[tuple[NBest, list[Scored]]]:
        lists = list(lists)
        words = [word for nbest in lists for one in nbest.candidates for word in one.words]
        if "crash" in words:
            raise RuntimeError("the word was crash")
        if "die" in words:
            raise SystemExit
        if "late" in words:
            global passed
            passed += 3600
        gates = [Path(word.removeprefix("wait:")) for word in words if word.startswith("wait:")]
        while not all(gate.exists() for gate in gates):
            if cancellation is not None and cancellation.is_cancelled:
                break
            time.sleep(0.005)
        return super().score_lists(lists, criterion, token_scores, cancellation, lanes)


if __name__ == "__main__":
    time.monotonic = lambda: REAL_TIME() + passed
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    settings = load_settings(vars(parser.parse_args()))
    logs.configure(settings)
    reranker = Fragile(Reranker.load(settings.models).members)
    sys.exit(server.serve(create_app(reranker, settings), settings))
