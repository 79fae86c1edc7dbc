"""``rerank serve``: the HTTP service."""

from __future__ import annotations

import argparse
import os
import signal

from reranker import registry

LESS_MEMORY = "fewer --engines or a smaller ensemble (--models) take less"

EXAMPLES = """examples:
  rerank serve --models ckpt/*.pt
  rerank serve --models ckpt/*.pt --host 0.0.0.0 --port 8080 --api-keys-file keys.txt
  rerank serve --models ckpt/doc/doc-1.pt --sha256 d4c15685
  rerank serve --models ckpt/*.pt --ray --engines 4
  RERANK_API_KEYS=secret rerank serve --config service.toml

exit status: 0 stopped by a signal, 2 could not start, 3 out of memory"""

USAGE = "%(prog)s [flags]"
GROUPS = {
    "everyday flags": (
        "--models --language --host --port --api-keys-file --public --engines --config"
    ),
    "input": "--words --parser-model --candidates",
    "models": "--sha256 --combine --device --threads --precision --ray",
    "who may call": "--allow-host --admin-keys-file --cors-origins --forwarded-allow-ips",
    "output": "--log-format --log-text --traces",
    "limits": (
        "--batch-tokens --queue-requests --queue-tokens --queue-bytes --client-rate --connections "
        "--max-body-bytes --max-sentences --max-candidates --max-tree-tokens --max-depth "
        "--max-characters --longest --request-seconds --max-request-seconds "
        "--body-seconds --reading-seconds --heartbeat-seconds --drain-seconds"
    ),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank serve`` to ``parser``: one for each of the service's settings."""
    # Imported here since other commands answer sooner without the web packages.
    from reranker.service.settings import add_arguments

    add_arguments(parser)
    text = (
        "serve with Ray Serve, with --engines replicas; WHERE: local: only this machine; auto, "
        "HOST:PORT or ray://HOST:PORT: a running cluster (default: RAY_ADDRESS, else local)"
    )
    parser.add_argument("--ray", nargs="?", const="", metavar="WHERE", help=text)


def end_at_sigterm() -> None:
    """Make SIGTERM end the process at once with status 0, until the service handles it itself."""
    signal.signal(signal.SIGTERM, lambda number, frame: os._exit(0))


def run(arguments: argparse.Namespace) -> int:
    """Serve until stopped by a signal; returns the exit code."""
    from reranker.checkpoints.ensemble_file import named_models
    from reranker.service.server import run
    from reranker.service.settings import load_settings

    flags = vars(arguments)
    where = flags.pop("ray")
    del flags["command_line"]  # not a setting
    settings = load_settings(flags)
    named_models(settings.named, settings.combine, settings.sha256)
    if where is None:
        return run(settings)
    return int(registry.load("servers", "ray")(settings, where or None))
