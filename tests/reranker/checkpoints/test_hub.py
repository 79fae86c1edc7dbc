"""Models of the Hugging Face hub, by its own client from a server of this machine."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from reranker.checkpoints.hub import from_hub
from reranker.errors import InputError
from tests.answering import Answers, answering

COMMIT = "0123456789abcdef0123456789abcdef01234567"
FILES = {
    "README.md": b"a card, which is not fetched",
    "a.pt": b"weights of a",
    "b.pt": b"weights of b",
}
SHA256 = {name: hashlib.sha256(content).hexdigest() for name, content in FILES.items()}
FILES["fast.toml"] = (
    'version = 2\ncriterion = "perplexity"\nlm_weight = 0.4\ntoken_bonus = 0.0\n\n'
    f'[[members]]\nfile = "a.pt"\nsha256 = "{SHA256["a.pt"]}"\nweight = 1.0\n'
).encode()


class Hub(Answers):
    """The part of the hub that its client asks for: a repository's list of files, and each file."""

    served: list[str]

    def do_GET(self) -> None:
        if re.fullmatch(r"/api/models/we/trees/revision/(main|v1)", self.path):
            files = [{"rfilename": name} for name in FILES]
            self.found(json.dumps({"id": "we/trees", "sha": COMMIT, "siblings": files}).encode())
        elif (name := self.path.rpartition("/")[2]) in FILES and COMMIT in self.path:
            self.served.append(f"{self.command} {name}")
            self.found(FILES[name])
        else:
            self.answer(status=404, headers={"X-Error-Code": "RepoNotFound"})

    do_HEAD = do_GET

    def found(self, content: bytes) -> None:
        tag = f'"{hashlib.sha256(content).hexdigest()}"'
        self.answer(content, headers={"X-Repo-Commit": COMMIT, "ETag": tag})


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Yield the environment in which a program takes this server for the hub."""
    Hub.served = []
    with answering(Hub) as port:
        # The client's caches and endpoint are decided when it is imported.
        yield {
            "HF_ENDPOINT": f"http://127.0.0.1:{port}",
            "HF_HOME": str(tmp_path / "hub"),
            "HF_HUB_DISABLE_TELEMETRY": "1",
        }


def named(environment: Mapping[str, str], *names: str) -> list[str]:
    """Return the result of ``named_models`` for each name, with its log before it: names of files
    and weights, or the error."""
    code = (
        "import logging, sys\n"
        "from reranker.checkpoints.ensemble_file import named_models\n"
        "from reranker.errors import InputError\n"
        "logging.basicConfig(stream=sys.stdout, format='%(message)s')\n"
        "logging.getLogger('reranker').setLevel(logging.INFO)\n"
        "for name in sys.argv[1:]:\n"
        "    try:\n"
        "        models = named_models(name)\n"
        "        print(*(path.name for path in models.paths), models.weighing.lm_weight)\n"
        "    except InputError as error:\n"
        "        print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *names],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_models_are_fetched_once_and_their_hashes_shown(hub: dict[str, str]) -> None:
    hashes = f"a.pt:{SHA256['a.pt'][:8]} b.pt:{SHA256['b.pt'][:8]}"
    expected = []
    for name, answer in (
        ("hf://we/trees", "a.pt b.pt 1.0"),
        ("hf://we/trees@v1", "a.pt b.pt 1.0"),
        ("hf://we/trees/fast.toml", "a.pt 0.4"),
    ):
        expected += [f"{name}: commit {COMMIT[:12]}, {hashes}", answer]
    names = ["hf://we/trees", "hf://we/trees@v1", "hf://we/trees/fast.toml"]
    assert named(hub, *names) == expected
    gets = [each for each in Hub.served if each.startswith("GET")]
    assert sorted(gets) == ["GET a.pt", "GET b.pt", "GET fast.toml"]
    nowhere = {**hub, "HF_ENDPOINT": "http://127.0.0.1:1", "HF_HUB_OFFLINE": "1"}
    assert named(nowhere, *names) == expected


def test_what_is_not_there_is_named(hub: dict[str, str]) -> None:
    wrong = ["hf://trees", "hf://we/trees/../../etc", "hf://we/trees/a.pt"]
    nothing, slow, *others = named(hub, "hf://we/nothing", "hf://we/trees/slow.toml", *wrong)
    assert nothing.startswith("hf://we/nothing: cannot be fetched: 404 Client Error")
    assert slow == "hf://we/trees/slow.toml: no such file in it; its ensemble files: fast.toml"
    for name, answer in zip(wrong, others, strict=True):
        assert answer.startswith(f"{name}: expected hf://OWNER/NAME")
    (reason,) = named({**hub, "HF_HUB_OFFLINE": "1"}, "hf://we/other")
    assert reason.startswith("hf://we/other: cannot be fetched: ")


def test_without_the_extra_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(InputError, match=r"pip install 'parse-reranker\[hub\]'"):
        from_hub("hf://we/trees")
