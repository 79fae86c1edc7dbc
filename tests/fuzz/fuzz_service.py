"""A real service against what schemathesis makes of its own description, with all its checks.

    pip install -c constraints.txt schemathesis==4.32.5
    python -m tests.fuzz.fuzz_service 600    # seconds
    python -m tests.fuzz.fuzz_service 600 /parse    # one path only

The exit status is 0 if nothing was violated, and the service then still gives the answer it gave
before. Requests and answers of violations are printed, with a command that repeats them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx

from tests.service.servers import serving

FOLDER = Path(__file__).resolve().parent
KEY = "fuzz"
TEXT = {"text": "We saw it. It runs."}
BODY = {"sentences": [{"candidates": ["(S1 (S (NP (PRP It)) (VP (VBZ runs)) (. .)))"]}]}


def main(seconds: int, *paths: str) -> int:
    authorization = {"Authorization": f"Bearer {KEY}"}
    with (
        # Reloading takes another key: it would take all the time.
        serving(
            ["ckpt/*.pt"],
            RERANK_API_KEYS=KEY,
            RERANK_ADMIN_KEYS="another",
        ) as server,
        server.client(headers=authorization) as client,
    ):
        before = ranked(client)
        returncode = schemathesis(server.url, seconds, paths)
        internal = [line for line in server.log if line["event"] == "internal error"]
        print(f"internal errors in the log: {len(internal)}", *internal, sep="\n")
        is_as_before = ranked(client) == before
        print(f"answers as before: {is_as_before}")
    return returncode or int(bool(internal) or not is_as_before)


def schemathesis(url: str, seconds: int, paths: Sequence[str]) -> int:
    """Run schemathesis; return its exit status. It prints its findings, and leaves no files."""
    command = [str(Path(sys.executable).with_name("st"))]
    command += ["--config-file", str(FOLDER / "schemathesis.toml"), "run", f"{url}/openapi.json"]
    command += ["-H", f"Authorization: Bearer {KEY}", "--checks", "all"]
    # No schema says which text is an n-best list; service_hooks.py has a closer look.
    command += ["--exclude-checks", "positive_data_acceptance"]
    command += ["--max-time", str(seconds)]
    command += [part for path in paths for part in ("--include-path", path)]
    hooks = {**os.environ, "SCHEMATHESIS_HOOKS": str(FOLDER / "service_hooks.py")}
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run(command, cwd=folder, env=hooks).returncode


def ranked(client: httpx.Client) -> Any:
    asked = {"/rerank": BODY, "/parse": TEXT}
    answers = [client.post(path, json=body).raise_for_status() for path, body in asked.items()]
    return [answer.json()["sentences"] for answer in answers]


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), *sys.argv[2:]))
