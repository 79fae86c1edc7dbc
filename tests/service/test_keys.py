"""Keys, headers, and what the log holds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.datastructures import Headers

from reranker.errors import InputError
from reranker.service.keys import Keys
from reranker.service.settings import load_settings
from tests.checkout import before_python_path
from tests.service.children.test_processes import children_of, count
from tests.service.servers import Server, sentence, serving
from tests.waiting import PATIENCE

BODY = {"sentences": [sentence("Aardvark")]}
CONTROL = "a key has a control character, such as NUL, that no header can send"
FILE, ENVIRONMENT, ADMIN = "key-of-file", "key-of-environment", "key-of-admin"
KEYED = ("/", "/info", "/models", "/metrics", "/docs", "/openapi.json", "/page/x", "/nothing")


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


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the messages that children receive, a file for each child."""
    return tmp_path_factory.mktemp("records")


@pytest.fixture(scope="module")
def closed(
    models: list[str], records: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    keys = tmp_path_factory.mktemp("keys") / "keys"
    keys.write_text(
        f"# to be replaced\n  # also\n{FILE}\n\nnew # newspaper\nscraper # prometheus\n"
    )
    (keys.parent / "sitecustomize.py").write_text(RECORDING, encoding="utf-8")
    flags = ["--api-keys-file", str(keys), "--cors-origins", "https://example.org", "--log-text"]
    flags += ["--forwarded-allow-ips", "127.0.0.1", "--host", "0.0.0.0"]
    with serving(
        models,
        *flags,
        PYTHONPATH=before_python_path(str(keys.parent)),
        RECORDS=str(records),
        RERANK_API_KEYS=f"{ENVIRONMENT},fourth",
        rerank_admin_keys=ADMIN,
    ) as server:
        yield server


@pytest.fixture(scope="module")
def outside(closed: Server) -> Iterator[httpx.Client]:
    with closed.client() as client:
        yield client


def test_only_health_is_open(outside: httpx.Client) -> None:
    for path in ("/health", "/health/live", "/health/ready"):
        assert outside.get(path).status_code == 200
    for path in KEYED:
        answer = outside.get(path)
        assert answer.status_code == 401
        assert answer.json()["error"]["code"] == "unauthorized"
        assert answer.headers["www-authenticate"].startswith("Bearer")
    assert outside.post("/rerank", json=BODY).status_code == 401
    assert outside.post("/parse", json={"text": "It runs."}).status_code == 401
    assert outside.post("/models/reload").status_code == 401


def test_with_keys_any_name_and_address_will_do(closed: Server) -> None:
    """A browser that an attacker's DNS brings here has no key."""
    headers = {"Host": "any.example", "X-API-Key": FILE}
    url = f"http://127.0.0.1:{closed.port}/info"
    assert httpx.get(url, headers=headers, timeout=PATIENCE).status_code == 200


@pytest.mark.parametrize("key", [FILE, "new", ENVIRONMENT, "fourth", ADMIN])
def test_each_key_opens_in_each_way(outside: httpx.Client, key: str) -> None:
    for headers in ({"Authorization": f"Bearer {key}"}, {"X-API-Key": key}):
        assert outside.post("/rerank", json=BODY, headers=headers).status_code == 200
    assert outside.get("/info", auth=("anybody", key)).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": "Bearer"},
        {"Authorization": f"Bearer {FILE.upper()}"},
        {"Authorization": FILE},
        {"Authorization": "Basic !"},
        {"X-API-Key": "# to be replaced"},
        {"X-API-Key": "# also"},
        {"X-API-Key": f"{FILE}\u00ff"},
        {"X-API-Key": ""},
    ],
)
def test_wrong_keys_do_not(outside: httpx.Client, headers: dict[str, str]) -> None:
    (header,) = headers
    encoded = {name: value.encode("latin-1") for name, value in headers.items()}
    answer = outside.post("/rerank", json=BODY, headers=encoded)  # type: ignore[arg-type]
    assert answer.status_code == 401
    assert answer.json()["error"]["param"] == (header if headers[header] else "Authorization")


def test_only_an_admin_reloads(outside: httpx.Client, models: list[str]) -> None:
    answer = outside.post("/models/reload", headers={"X-API-Key": FILE})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "not-admin")
    # A browser would send this with a stranger's form.
    assert outside.post("/models/reload", auth=("", ADMIN)).status_code == 401
    answer = outside.post("/models/reload", headers={"Authorization": f"Bearer {ADMIN}"})
    assert answer.status_code == 200
    assert [one["name"] for one in answer.json()["models"]] == [Path(one).name for one in models]


def test_no_key_reaches_a_child(closed: Server, outside: httpx.Client, records: Path) -> None:
    """Children read what strangers have sent: no key is in their environment, nor in their
    arguments, nor in what comes to them through the pipe."""
    for path, body in (
        ("/rerank", {"documents": ["(S1 (NN Aardvark))"]}),
        ("/parse", {"text": "Aardvark", "criterion": "perplexity"}),
        ("/parse", {"text": "Aardvark " * 2000, "criterion": "perplexity"}),
    ):
        answer = outside.post(path, json=body, headers={"X-API-Key": ENVIRONMENT})
        assert answer.status_code == 200
    admin = {"X-API-Key": ADMIN}
    assert outside.post("/models/reload", headers=admin).status_code == 200
    for module, number in {"scoring_main": 1, "reading_main": 2}.items():
        children = children_of(closed, module)
        assert len(children) == number, module
        for child in children:
            received = (records / str(child)).read_bytes()
            given = Path(f"/proc/{child}/environ").read_bytes()
            assert b"Aardvark" in received and b"RECORDS=" in given
            given += received + Path(f"/proc/{child}/cmdline").read_bytes()
            assert not [key for key in (FILE, ENVIRONMENT, ADMIN) if key.encode() in given], module


def test_without_admin_keys_nobody_reloads(http: httpx.Client) -> None:
    assert http.post("/models/reload").status_code == 403


def test_cross_origin(outside: httpx.Client, http: httpx.Client) -> None:
    asks = {"Origin": "https://example.org", "Access-Control-Request-Method": "POST"}
    allowed = outside.options("/rerank", headers=asks)
    assert allowed.headers["access-control-allow-origin"] == "https://example.org"
    other = outside.options("/rerank", headers={**asks, "Origin": "https://example.com"})
    assert "access-control-allow-origin" not in other.headers
    # Scripts may send an id, and read the answer's.
    names = {"Access-Control-Request-Headers": "X-Request-ID"}
    assert outside.options("/rerank", headers={**asks, **names}).status_code == 200
    answer = outside.get("/info", headers={"Origin": "https://example.org", "X-API-Key": FILE})
    assert "X-Request-ID" in answer.headers["access-control-expose-headers"]
    off = http.post("/rerank", json=BODY, headers={"Origin": "https://example.org"})
    assert (off.status_code, off.json()["error"]["code"]) == (403, "wrong-origin")
    assert not [name for name in off.headers if name.startswith("access-control")]


def test_headers(http: httpx.Client) -> None:
    for path in ("/info", "/nothing", "/docs"):
        headers = http.get(path).headers
        assert "default-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert "server" not in headers


@pytest.mark.parametrize("given, kept", [("abc-1.2_3", True), ("a b", False), ("x" * 65, False)])
def test_request_ids(http: httpx.Client, given: str, kept: bool) -> None:
    answer = http.post("/rerank", json=BODY, headers={"X-Request-ID": given})
    assert answer.json()["id"] == answer.headers["x-request-id"]
    assert (answer.json()["id"] == given) is kept


def test_log_has_ids_and_no_words(server: Server, http: httpx.Client) -> None:
    bodies: dict[str, Any] = {
        "good": BODY,
        "bad": {"sentences": [{"candidates": "Aardvark"}]},
        "odd": {"nbest": "1\tx\nAardvark\n-3\n"},
    }
    for request_id, body in bodies.items():
        http.post("/rerank?top_n=1", json=body, headers={"X-Request-ID": request_id})
        http.get("/Aardvark")
        line = server.logged("request", request_id=request_id)
        assert (line["path"], line["method"]) == ("/rerank", "POST")
        assert isinstance(line["seconds"], float)
    assert "Aardvark" not in str(server.log)


def test_words_in_the_log_if_asked(closed: Server, outside: httpx.Client) -> None:
    headers = {"X-API-Key": FILE, "X-Request-ID": "told"}
    assert outside.post("/rerank", json=BODY, headers=headers).status_code == 200
    assert "Aardvark" in closed.logged("request", request_id="told")["text"]


@pytest.mark.parametrize(
    "key, label",
    [
        ("new", "newspaper"),
        (FILE, "key-3"),
        (ADMIN, "admin-1"),
        ("x", "invalid"),
        ("", "none"),
    ],
)
def test_who_asked(closed: Server, outside: httpx.Client, key: str, label: str) -> None:
    """The proxy is trusted, what its client claims is not."""
    headers = {"X-API-Key": key, "X-Forwarded-For": "10.9.9.9, 203.0.113.7"}
    outside.get("/info", headers={**headers, "X-Request-ID": f"from-{key}"})
    line = closed.logged("request", request_id=f"from-{key}")
    assert (line["client"], line["key"]) == ("203.0.113.7", label)
    metrics = outside.get("/metrics", headers={"X-API-Key": FILE}).text
    status = "4xx" if label in ("invalid", "none") else "2xx"
    assert f'rerank_key_requests_total{{key="{label}",status="{status}"}}' in metrics


def test_a_proxy_that_passes_on_no_address(closed: Server, outside: httpx.Client) -> None:
    for number, (address, client) in enumerate(
        [("nonsense", "unknown"), ("fe80::1%x y", "fe80::1")]
    ):
        headers = {"X-Forwarded-For": address, "X-Request-ID": f"odd-{number}"}
        outside.get("/info", headers=headers)
        assert closed.logged("request", request_id=f"odd-{number}")["client"] == client


def test_metrics_are_for_who_has_a_key(closed: Server) -> None:
    """As Prometheus asks: it sends the key as a bearer token."""
    for given, status in (("scraper", 200), ("other", 401), (None, 401)):
        with closed.client(headers={"Authorization": f"Bearer {given}"} if given else {}) as client:
            assert client.get("/metrics").status_code == status
    with closed.client(headers={"Authorization": "Bearer scraper"}) as client:
        answered = 'key_requests_total{key="prometheus",status="2xx"}'
        assert 1 <= count(client, answered) < count(client, answered)


def test_a_label_that_is_none_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    for line in ("secret # two words", "secret # none", f"secret # {'x' * 41}", "secret #"):
        file.write_text(f"good # fine\n{line}\n")
        with pytest.raises(InputError, match="a label has up to 40 letters") as caught:
            Keys(load_settings({"api_keys_file": file}))
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize("name", ["api_keys_file", "admin_keys_file"])
def test_a_file_without_keys_is_refused_with_its_setting(name: str, tmp_path: Path) -> None:
    file = tmp_path / "keys"
    for content, reason in (
        (None, "cannot be read: No such file or directory"),
        (b"", "contains no keys; write them one per line"),
        (b"# none\n", "contains no keys; write them one per line"),
        (b"secret\xff\n", "cannot be read: not text in UTF-8"),
        (b"good\nsec\0ret # label\n", CONTROL),
        ("key\n".encode("utf-16-le"), CONTROL),
        (b"sec\x1bret\n", CONTROL),
    ):
        if content is not None:
            file.write_bytes(content)
        with pytest.raises(InputError) as caught:
            Keys(load_settings({name: file}))
        assert str(caught.value) == f"setting {name}: {file}: {reason}"
    with pytest.raises(InputError, match="Is a directory"):
        Keys(load_settings({name: tmp_path}))


def test_keys_are_what_headers_can_give(tmp_path: Path) -> None:
    """Editors put a mark before the first key, and a template may have put spaces around it."""
    file, config = tmp_path / "keys", tmp_path / "config.toml"
    file.write_text("\ufeffof a file # me\n", encoding="utf-8")
    config.write_text('\ufeffapi_keys = [" of settings "]', encoding="utf-8")
    keys = Keys(load_settings({"api_keys_file": file, "config": config}))
    for key, label in (("of a file", "me"), ("of settings", "key-1"), ("", "none")):
        assert keys.label("/rerank", Headers({"x-api-key": key})) == label
    config.write_text('api_keys = [""]')  # which "Authorization: Bearer " would be
    with pytest.raises(InputError, match=r"setting api_keys: .*a key is empty"):
        load_settings({"config": config})
    config.write_text('api_keys = ["sec\\u0000ret"]')
    with pytest.raises(InputError, match=r"setting api_keys: .*a control character") as caught:
        load_settings({"config": config})
    assert "sec" not in str(caught.value)


def test_pages(http: httpx.Client) -> None:
    page = http.get("/")
    assert page.headers["content-type"].startswith("text/html")
    assert "<script" in page.text
    assert http.get("/page/page.css").headers["content-type"].startswith("text/css")
    assert http.get("/page/../settings.py").status_code == 404
    assert http.get("/page/%2e%2e/settings.py").status_code == 404
