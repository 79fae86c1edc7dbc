"""CPU time of a sentence that is parsed over HTTP, beside the command's.

    python -m benchmarks.service_load.texts gum/dev.mrg.gz [--sentences 200] [--clients 8]
        [--rerank PROGRAM] [--models best]

Clients, each from an address of its own, POST one sentence a request to `/parse` and want the best
tree alone, one request after another. Counted are the processor seconds of all processes of the
service, per sentence, with one client and with several; and those of `rerank parse` for the same
sentences, less those for a few of them. All use one thread. Every answer is compared with the
command's line. PROGRAM is the `rerank` of another version, to compare with.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.client import HTTPConnection

from benchmarks.costs import timed
from benchmarks.scoring.measure import machine
from benchmarks.servers import RERANK, serving
from benchmarks.service_load.watching import processor_seconds
from reranker.files.table import aligned
from reranker.files.text import read_lines
from reranker.process.flags import positive
from reranker.trees.tree import Tree

HEADERS = {"Accept": "text/plain", "Content-Type": "application/json"}
FEW = 8  # sentences of the run that is taken off


def texts_of(treebank: str, wanted: int) -> list[str]:
    """Return sentences of 15 to 25 words, with spaces between, evenly spread over a treebank."""
    every = [Tree.from_string(line).words() for line in read_lines(treebank)]
    some = [" ".join(words) for words in every if 15 <= len(words) <= 25]
    wanted = min(wanted, len(some))
    return [some[number * len(some) // wanted] for number in range(wanted)]


def of_command(rerank: Sequence[str], models: Sequence[str], texts: Sequence[str]) -> list[str]:
    """Return the command's trees."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".txt") as file:
        file.write("\n".join([*texts, ""]))
        file.flush()
        command = [*rerank, "parse", file.name, "--tokens", "--models", *models]
        done = subprocess.run(
            [*command, "--threads", "1", "--jobs", "1"], check=True, capture_output=True, text=True
        )
    return done.stdout.splitlines()


def asked(port: int, texts: Sequence[str], client: int) -> list[str]:
    """Return the service's trees of some texts, one request after another."""
    address = (f"127.0.0.{2 + client}", 0)
    connection = HTTPConnection("127.0.0.1", port, 600, source_address=address)
    trees = []
    for text in texts:
        body = json.dumps({"tokens": [text.split()], "top_n": 1})
        connection.request("POST", "/parse", body, HEADERS)
        answer = connection.getresponse()
        content = answer.read().decode().strip()
        trees.append(content if answer.status == 200 else f"{answer.status} {content}")
    connection.close()
    return trees


def of_service(pid: int, port: int, texts: Sequence[str], clients: int) -> tuple[float, list[str]]:
    """Return the processor seconds of so many clients' requests, and the trees."""
    shares = [texts[number::clients] for number in range(clients)]
    before = processor_seconds(pid)
    with ThreadPoolExecutor(clients) as threads:
        trees = list(threads.map(partial(asked, port), shares, range(clients)))
    found = [trees[number % clients][number // clients] for number in range(len(texts))]
    return processor_seconds(pid) - before, found


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service_load.texts")
    parser.add_argument("treebank")
    parser.add_argument("--sentences", type=positive, default=200, help="(default: 200)")
    parser.add_argument("--clients", type=positive, default=8, help="(default: 8)")
    parser.add_argument("--models", nargs="+", default=["best"])
    parser.add_argument("--rerank", metavar="PROGRAM", help="program to start")
    arguments = parser.parse_args(argv)
    rerank = [arguments.rerank] if arguments.rerank else RERANK
    texts = texts_of(arguments.treebank, arguments.sentences)
    print(f"{machine(1)}; load average {os.getloadavg()[0]:.1f}", flush=True)
    costs = []
    for some in (texts[:FEW], texts):
        lines, cost = timed(partial(of_command, rerank, arguments.models, some))
        costs.append(cost.processor)
    command = (costs[1] - costs[0]) / (len(texts) - FEW)
    rows = [("", "CPU-ms a sentence", "times", "as the command")]
    rows.append(("command", f"{1000 * command:.1f}", "1", ""))
    with serving(arguments.models, "--threads", "1", rerank=rerank) as server:
        pid, port = server.process.pid, server.port
        of_service(pid, port, texts[:FEW], arguments.clients)  # starts all children that read
        for clients in (1, arguments.clients):
            seconds, trees = of_service(pid, port, texts, clients)
            each, same = seconds / len(texts), sum(map(str.__eq__, trees, lines))
            name = f"service, {clients} client{'s' * (clients > 1)}"
            right = f"{same} of {len(texts)}"
            rows.append((name, f"{1000 * each:.1f}", f"{each / command:.2f}", right))
    print(aligned(rows))


if __name__ == "__main__":
    main(sys.argv[1:])
