"""A container without a writable disk, and a service that cannot start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.checkout import RERANK
from tests.waiting import PATIENCE

# In a mount namespace of its own, with the disk mounted read-only.
READ_ONLY = """
mount --rbind / "$0" && mount -o remount,bind,ro "$0" && exec chroot "$0" "$@"
"""
INSIDE = """
touch /tmp/written 2>/dev/null && exit 66
cd / && exec "$0" serve --port 0 --log-format json --models "$@"
"""


def isolated(root: Path, *command: str) -> list[str]:
    unshare = ["unshare", "--user", "--map-root-user", "--mount"]
    return [*unshare, "sh", "-c", READ_ONLY, str(root), *command]


def test_without_a_writable_disk(models: list[str], tmp_path: Path) -> None:
    """``docker run --read-only``: it becomes ready, answers and ends well."""
    try:
        can = subprocess.run(isolated(tmp_path, "true"), capture_output=True).returncode == 0
    except OSError:
        can = False
    if not can:
        pytest.skip("this machine permits no mount namespaces")
    environment = {k: v for k, v in os.environ.items() if k not in ("TMPDIR", "TEMP", "TMP")}
    process = subprocess.Popen(
        isolated(tmp_path, "sh", "-c", INSIDE, RERANK, *models),
        env={**environment, "PYTHONDONTWRITEBYTECODE": "1"},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        log = []
        for line in process.stderr:
            log.append(line)
            if '"ready"' in line:
                break
        else:
            pytest.fail("".join(log))
        (url,) = (json.loads(line)["url"] for line in log if '"listening"' in line)
        trees = ["(S1 (S (NP (PRP We)) (VP (VBP saw) (NP (PRP it)))))"]
        answer = httpx.post(f"{url}/rerank", json={"documents": trees}, timeout=PATIENCE)
        assert answer.status_code == 200
        process.terminate()
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.communicate()


CANNOT_LOAD = """
import sys
from reranker.service.children.scoring import ScoringChild
def load(_): raise FileNotFoundError(2, "No usable temporary directory found")
ScoringChild.load = load
from reranker.commands.main import main
sys.exit(main(["serve", "--port", "0", "--models", sys.argv[1]]))
"""


def test_any_failure_to_start_is_logged_and_ends_the_process(models: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CANNOT_LOAD, models[0]],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "the service cannot start" in done.stderr and "FileNotFoundError" in done.stderr
    assert "No usable temporary directory" in done.stderr
