"""A connection to Ray: started here, or the cluster at an address."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import ray
import ray.exceptions

from reranker.errors import InputError, RerankError
from reranker.process.machine import available_cores

_CORES = 4
_SECONDS_TO_CONNECT = 10.0
_STORE_BYTES = 1 << 29
"""Shared memory for blocks in transit, if Ray is started here; a block takes a few MB."""


@dataclass(frozen=True, slots=True)
class Actors:
    """The least and largest number of actors, and the resources of each."""

    least: int
    most: int
    cores: int
    gpus: float = 0.0


@contextlib.contextmanager
def connected(address: str | None, cores: int = 0) -> Iterator[None]:
    """Connect to a cluster until the end of the context; ``local`` starts one on this machine, with
    all its cores and no fewer than ``cores``. None is the cluster of the environment's
    ``RAY_ADDRESS``, in which a submitted job runs, or else ``local``. An existing connection is
    kept.

    Raises InputError if there is no cluster at the address.
    """
    if ray.is_initialized():
        yield
        return
    # Before anything of Ray runs: it reports to its makers unless told not to.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # It prints hints for its own developers.
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    address = address or os.environ.get("RAY_ADDRESS", "local")
    here = {}
    _check_reachable(address)
    if address == "local":
        # Ray would be nice to all other processes, as `rerank` is not.
        os.environ.setdefault("RAY_worker_niceness", "0")
        here = {
            "num_cpus": max(available_cores(), cores),
            "object_store_memory": _STORE_BYTES,
            "include_dashboard": False,
        }
    for name in ("ray", "ray.data"):
        logging.getLogger(name).setLevel(logging.ERROR)
    at_sigterm = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **here)
    except Exception as error:  # of several packages; each means that there is no connection
        if address == "local":
            raise InputError(f"Ray cannot be started: {first_line(error)}") from error
        # Ray shows its token to a cluster at a given address only if it is told to.
        token = (
            ""
            if os.environ.get("RAY_AUTH_MODE")
            else "; if it asks for a token: RAY_AUTH_MODE=token"
        )
        raise InputError(f"no Ray cluster at {address}: {first_line(error)}{token}") from error
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, at_sigterm)  # Ray's would end the process with status 15
    try:
        yield
    finally:
        ray.shutdown()


def _check_reachable(address: str) -> None:
    """Check the address first: Ray itself tries for half a minute, and in one case ends the
    process."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        try:
            socket.create_connection((host.strip("[]"), int(port)), _SECONDS_TO_CONNECT).close()
        except (OSError, OverflowError) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            raise InputError(f"no Ray cluster at {address}: {reason or error}") from error


@contextlib.contextmanager
def ray_errors() -> Iterator[None]:
    """Raise Ray's errors, and errors of the work that Ray was given, as ours."""
    try:
        yield
    except ray.exceptions.RayError as error:
        cause = getattr(error, "cause", None)
        if isinstance(cause, RerankError):
            raise RerankError(str(cause)) from error
        raise RerankError(f"Ray: {first_line(cause or error)}") from error


def actors(least: int, most: int | None, cores: int | None, gpus: float) -> Actors:
    """Return the number and size of actors that the cluster has room for, where they are not given.

    Raises InputError if no machine has room for one.
    """
    machines = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    counts = [count for machine in machines if (count := int(machine.get("CPU", 0)))]
    cores = cores or min([_CORES, *counts])
    if cores > max(counts, default=0):
        raise InputError(f"no machine of the cluster has {cores} cores for an actor")
    if gpus > max(machine.get("GPU", 0) for machine in machines):
        raise InputError(f"no machine of the cluster has {gpus:g} GPUs for an actor")
    return Actors(least, max(least, most or sum(count // cores for count in counts)), cores, gpus)


def first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
