"""No key reaches a process that reads what strangers have sent: neither its environment, nor its
arguments, nor what comes to it through the pipe."""

from __future__ import annotations

from pathlib import Path

from tests.checkout import before_python_path
from tests.service.children.test_processes import children_of
from tests.service.servers import serving

CHILDREN = {"scoring_main": 1, "reading_main": 2}
KEYS = ("key-of-environment", "key-of-admin", "key-of-file")

# A child writes down what it receives.
RECORDING = """
import os, sys
if any(word.startswith("reranker.") for word in sys.orig_argv):
    from multiprocessing.connection import Connection
    receive = Connection._recv_bytes
    def recorded(self, maxsize=None):
        message = receive(self, maxsize)
        with open(f"{os.environ['RECORDS']}/{os.getpid()}", "ab") as file:
            file.write(message.getvalue())
        return message
    Connection._recv_bytes = recorded
"""


def test_no_key_reaches_a_child(models: list[str], tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(RECORDING, encoding="utf-8")
    (tmp_path / "keys").write_text(f"{KEYS[2]} # newspaper\n", encoding="utf-8")
    flags = ("--api-keys-file", str(tmp_path / "keys"))
    with serving(
        models,
        *flags,
        PYTHONPATH=before_python_path(str(tmp_path)),
        RECORDS=str(tmp_path),
        RERANK_API_KEYS=KEYS[0],
        rerank_admin_keys=KEYS[1],
    ) as server:
        with server.client(headers={"X-API-Key": KEYS[0]}) as client:
            long = "Aardvark " * 2000
            for path, body in (
                ("/rerank", {"documents": ["(S1 (NN Aardvark))"]}),
                ("/parse", {"text": "Aardvark", "criterion": "perplexity"}),
                ("/parse", {"text": long, "criterion": "perplexity"}),
            ):
                assert client.post(path, json=body).status_code == 200
            admin = {"X-API-Key": KEYS[1]}
            assert client.post("/models/reload", headers=admin).status_code == 200
        for module, number in CHILDREN.items():
            children = children_of(server, module)
            assert len(children) == number, module
            for child in children:
                received = (tmp_path / str(child)).read_bytes()
                given = Path(f"/proc/{child}/environ").read_bytes()
                assert b"Aardvark" in received and b"RECORDS=" in given
                given += received + Path(f"/proc/{child}/cmdline").read_bytes()
                assert not [key for key in KEYS if key.encode() in given], module
