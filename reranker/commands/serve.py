"""``rerank serve``: the HTTP service, which needs its extra packages."""

from __future__ import annotations

import argparse
from importlib import import_module
from types import ModuleType

from reranker.errors import InputError

EXAMPLES = """examples:
  rerank serve --models ckpt/*.pt
  rerank serve --models ckpt/*.pt --host 0.0.0.0 --port 8080 --log-format json
  RERANK_API_KEYS=secret rerank serve --config service.toml

exit status: 0 ended by a signal, 2 could not start"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank serve`` to ``parser``: one for each of the service's settings."""
    _service().add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Serve until told to stop; returns the exit code."""
    code: int = _service().run(arguments)
    return code


def _service() -> ModuleType:
    # The service imports this package, so nothing here may import the service. The one command
    # that starts it looks it up by name when it is called: an entry point of its own would do the
    # same but split the `rerank` command in two.
    try:
        return import_module("reranker.service.server")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] == "reranker":
            raise
        message = f"{error.name} is not installed; pip install 'parse-reranker[service]'"
        raise InputError(message) from error
