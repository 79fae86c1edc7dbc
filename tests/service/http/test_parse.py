"""``POST /parse``: text in; out come the figures of ``rerank parse``, to the last digit."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest

from reranker.checkpoints.installed import installed_parser_models
from reranker.client import Client, ServiceError
from reranker.commands.main import main
from reranker.errors import InputError
from reranker.parsers.parser import ParserSettings
from reranker.parsers.registry import create_parser
from reranker.pipeline import Reranker
from reranker.plugins.other_parsers import bllip
from reranker.service.children.parsing_main import parser_of
from reranker.service.http.streams import LINES
from reranker.service.requests import schemas
from reranker.service.settings import load_settings
from reranker.trees.tree import Tree
from tests.reranker.small_files import write
from tests.service.http.test_rerank import comparable, metric
from tests.service.requests.test_limits import error_of
from tests.service.servers import Server, serving
from tests.waiting import PATIENCE, until

ROOT = Path(__file__).parents[3]
TOY = Path(__file__).parents[2] / "reranker" / "parsers" / "toy_parser.py"
# The last argument distinguishes its processes from other tests' processes.
TOY_ARGUMENTS = (str(TOY), "berkeley", f"of-{os.getpid()}")
PARSER = shlex.join([sys.executable, *TOY_ARGUMENTS])
TEXT = """We saw it. The man (with eyes) isn't
well-known!

We crash here. We saw the man."""
HANGING = {"text": "We hang here."}
ASK = {"Accept": LINES}


@pytest.fixture(scope="module")
def parsing(models: list[str]) -> Iterator[Server]:
    limits = ("--max-characters", "5000", "--max-sentences", "40", "--longest", "20")
    with serving(models, "--parser-command", PARSER, "--parser-jobs", "2", *limits) as server:
        yield server


@pytest.fixture(scope="module")
def http(parsing: Server) -> Iterator[httpx.Client]:
    with parsing.client() as client:
        yield client


@pytest.fixture(scope="module")
def command(models: list[str], tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Return the output of ``rerank parse --output ranked``."""
    folder = tmp_path_factory.mktemp("parsed")
    file, out = write(folder / "t.txt", TEXT), folder / "out"
    flags = ["--models", *models, "--parser-command", PARSER, "--output", "ranked"]
    flags += ["--lm-weight", "0.5", "--token-scores", "--out", str(out)]
    assert main(["parse", file, *flags]) == 1
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]


def test_the_answer_is_the_commands(http: httpx.Client, command: list[dict[str, Any]]) -> None:
    body = {"text": TEXT, "lm_weight": 0.5, "return_token_scores": True}
    answer = http.post("/parse", json=body)
    assert answer.status_code == 200, answer.text
    schemas.ParseAnswer.model_validate(answer.json())
    found = answer.json()["sentences"]
    assert [comparable(one) for one in found] == [comparable(row) for row in command]
    for one, row in zip(found, command, strict=True):
        del row["origin"]["file"]
        assert one["origin"] == row["origin"]
    assert found[2]["status"] == "failed"
    assert found[2]["fallback"] == "(TOP (S (XX We) (XX crash) (XX here) (XX .)))"
    # Without the program's message, which may name files.
    (rejected,) = found[2]["rejected"]
    assert rejected["message"] == "the parser ended with status 1"
    usage = answer.json()["usage"]
    assert (usage["sentences"], usage["candidates"], usage["rejected"]) == (4, 6, 1)


def test_sentences_and_words_of_ones_own(http: httpx.Client) -> None:
    texts = ["We saw it.", "", "The man. It is."]
    found = http.post("/parse", json={"sentences": texts}).json()["sentences"]
    assert [one["status"] for one in found] == ["ok", "failed", "ok"]
    assert (found[1]["fallback"], found[1]["rejected"][0]["message"]) == ("(TOP )", "no words")
    assert [one["origin"]["line"] for one in found] == [1, 2, 3]
    tokens = [["We", "saw", "it", "."], ["The", "man.", "It", "is", "."]]
    given = http.post("/parse", json={"tokens": tokens}).json()["sentences"]
    # The same words give the same figures, whatever they were taken from.
    assert given[0]["ranking"] == found[0]["ranking"]
    for one, words in zip(given, tokens, strict=True):
        assert Tree.from_string(one["ranking"][0]["tree"]).leaves() == words
        text = " ".join(words)
        assert [text[start:end] for start, end in one["origin"]["offsets"]] == words


def test_plain_text_with_options_in_the_query(http: httpx.Client) -> None:
    answer = http.post(
        "/parse",
        content=TEXT.encode().replace(b"saw the", b"saw \xff the"),
        params={"top_n": 1, "return_trees": False},
        headers={"Content-Type": "text/plain"},
    ).json()
    assert [len(one["ranking"]) for one in answer["sentences"]] == [1, 1, 0, 1]
    assert "tree" not in answer["sentences"][0]["ranking"][0]
    assert answer["warnings"] == ["line 4: byte 0xff is not UTF-8; U+FFFD is in its place"]


def test_the_lines_are_the_answer_in_pieces(http: httpx.Client) -> None:
    body = {"text": TEXT}
    named = {"X-Request-ID": "same"}
    whole = http.post("/parse", json=body, headers=named).json()
    answer = http.post("/parse", json=body, headers=named | ASK)
    assert (answer.status_code, answer.headers["content-type"]) == (200, LINES)
    first, *sentences, last = map(json.loads, answer.text.splitlines())
    assert [line["sentence"] for line in sentences] == whole.pop("sentences")
    assert last == {"end": {"usage": whole.pop("usage"), "warnings": whole.pop("warnings")}}
    assert first == {"start": {**whole, "sentences": 4}}


def test_many_at_once_are_answered_as_one_by_one(http: httpx.Client) -> None:
    words = ["we", "saw", "the", "man", "with", "eyes", "crash", "it", "is"]
    bodies = [
        {"sentences": [" ".join(words[k : k + 4]) for k in range(n % 5, n % 5 + 1 + n % 3)]}
        for n in range(8)
    ]
    alone = [http.post("/parse", json=body).json()["sentences"] for body in bodies]
    with ThreadPoolExecutor(8) as threads:
        together = list(threads.map(lambda body: http.post("/parse", json=body).json(), bodies))
    assert [answer["sentences"] for answer in together] == alone


def test_the_client_parses_as_in_the_process(parsing: Server, models: list[str]) -> None:
    reranker = Reranker.load(models)
    parser = create_parser("command", ParserSettings(command=PARSER))
    with Client(parsing.url) as client:
        for here, there in zip(
            reranker.parse(TEXT, parser, lm_weight=0.25), client.parse(TEXT, lm_weight=0.25),
            strict=True,
        ):  # fmt: skip
            assert here.ranking == there.ranking and here.fallback == there.fallback
            assert here.origin and there.origin and here.origin[1:] == there.origin[1:]
        (sentence,) = client.parse(["We saw it."], top=1)
        (given,) = client.parse([["We", "saw", "it", "."]], top=1)
        assert sentence.ranking == given.ranking and len(given) == 1
        with pytest.raises(ServiceError) as caught:
            client.parse(" ")
        assert caught.value.code == "unreadable"


@pytest.mark.parametrize(
    "body, status, code, part",
    [
        ({"text": "a " * 2501}, 422, "over-limit", "max_characters = 5000"),
        ({"text": "It is. " * 41}, 422, "over-limit", "max_sentences = 40"),
        ({"text": "\n"}, 422, "unreadable", "no words"),
        ({"text": "a", "top_n": 0}, 422, "invalid", "top_n"),
        ({}, 422, "invalid", "text"),
    ],
)
def test_limits(http: httpx.Client, body: Any, status: int, code: str, part: str) -> None:
    answer = http.post("/parse", json=body)
    assert (answer.status_code, error_of(answer)["code"]) == (status, code)
    assert part in f"{error_of(answer)['message']} {error_of(answer)['param']}"


def test_a_long_sentence_gets_a_flat_tree(http: httpx.Client) -> None:
    (one,) = http.post("/parse", json={"text": "a " * 21}).json()["sentences"]
    assert one["fallback"].count("XX") == 21
    assert one["rejected"][0]["code"] == "unparsed"
    assert "21 words, more than 20" in one["rejected"][0]["message"]


def test_examples_are_answered_as_described(http: httpx.Client) -> None:
    document = http.get("/openapi.json").json()
    operation = document["paths"]["/parse"]["post"]
    described = operation["responses"]["200"]["content"]["application/json"]["schema"]
    schema = {**described, "components": document["components"]}
    contents = operation["requestBody"]["content"]
    text = contents["text/plain"]["example"]
    answers = [http.post("/parse", content=text, headers={"Content-Type": "text/plain"})]
    for example in contents["application/json"]["examples"].values():
        form = {**contents["application/json"]["schema"], "components": document["components"]}
        jsonschema.validate(example["value"], form)
        answers.append(http.post("/parse", json=example["value"]))
    for answer in answers:
        jsonschema.validate(answer.json(), schema)
    assert [len(answer.json()["sentences"]) for answer in answers] == [2, 2, 2, 1]


def test_the_curl_lines_of_the_docs(parsing: Server) -> None:
    docs = (ROOT / "docs" / "service.md").read_text(encoding="utf-8")
    as_json, as_trees = (
        subprocess.run(
            ["bash", "-euc", command.replace("http://localhost:8000", parsing.url)],
            capture_output=True, text=True,
        ).stdout
        for command in re.findall(r"^curl [^\n]*/parse(?:.*\\\n)?.*$", docs, re.MULTILINE)
    )  # fmt: skip
    assert [len(one["ranking"]) for one in json.loads(as_json)["sentences"]] == [1, 1]
    assert Tree.from_string(as_trees).leaves() == ["It", "runs", "."]


def test_information_and_metrics(http: httpx.Client) -> None:
    information = http.get("/info").json()
    schemas.InfoAnswer.model_validate(information)
    assert information["parser"] == {
        "names": ["command"],
        "jobs": 2,
        "language": "en",
        "words": "gum",
    }
    assert (information["limits"]["longest"], information["limits"]["max_characters"]) == (20, 5000)
    names = [
        'rerank_rejected_total{code="unparsed"}',
        "rerank_sentences_total",
        "rerank_parser_seconds_count",
        'rerank_requests_total{method="POST",path="/parse",status="200"}',
    ]
    before = [metric(http, name) for name in names]
    http.post("/parse", json={"text": TEXT})
    after = [metric(http, name) for name in names]
    assert [new - old for new, old in zip(after, before, strict=True)] == [1, 4, 4, 1]
    assert metric(http, "rerank_parsing_sentences") == 0
    assert metric(http, 'rerank_memory_bytes{process="parsing"}') > 1e7


def test_the_log_has_counts_and_no_words(parsing: Server, http: httpx.Client) -> None:
    http.post("/parse", json={"text": "Aardvark crash."}, headers={"X-Request-ID": "counted"})
    line = parsing.logged("request", request_id="counted")
    assert (line["path"], line["sentences"], line["words"], line["rejected"]) == ("/parse", 1, 3, 1)
    assert "Aardvark" not in str(parsing.log)


def needs_bllip() -> None:
    pytest.importorskip("bllipparser", reason="needs pip install 'parse-reranker[bllip]'")
    if not installed_parser_models():
        pytest.skip("needs a model of the BLLIP parser, of `rerank models`")


def running(*program: str) -> list[int]:
    """Return the processes of a Python program, wherever they were started."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has just ended
            command = file.read_text(errors="replace").split("\0")
            if tuple(command[1 : 1 + len(program)]) == program:
                found.append(int(file.parent.name))
    return found


def parsers() -> int:
    """Count the running parsers."""
    return len(running(*TOY_ARGUMENTS))


def is_of(process: int, parent: int) -> bool:
    with contextlib.suppress(OSError):  # it has just ended
        return f"\nPPid:\t{parent}\n" in Path(f"/proc/{process}/status").read_text()
    return False


def parsing_process_of(server: Server) -> int:
    (process,) = (
        process
        for process in running("-P", "-m", "reranker.service.children.parsing_main")
        if is_of(process, server.process.pid)
    )
    return process


def test_a_deadline_ends_the_parser(parsing: Server, http: httpx.Client) -> None:
    answer = http.post("/parse", json=HANGING, headers={"X-Request-Timeout": "0.5"})
    assert (answer.status_code, error_of(answer)["code"]) == (504, "deadline")
    until(lambda: parsers() == 0)
    assert http.post("/parse", json={"text": "It is."}).status_code == 200


@pytest.mark.parametrize("accept", [LINES, "*/*"])
def test_a_client_that_hangs_up_ends_its_parser_and_no_other(
    parsing: Server, http: httpx.Client, accept: str
) -> None:
    body = json.dumps(HANGING).encode()
    with ThreadPoolExecutor(1) as threads:
        with socket.create_connection(("127.0.0.1", parsing.port), timeout=PATIENCE) as connection:
            head = f"POST /parse HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
            head += f"Accept: {accept}\r\nContent-Type: application/json\r\n\r\n"
            connection.sendall(head.encode() + body)
            until(lambda: parsers() == 1)
            # One of two parsers hangs; the other parses.
            other = threads.submit(http.post, "/parse", json={"text": "It is. " * 30})
            assert other.result().status_code == 200
            assert parsers() == 1
        until(lambda: parsers() == 0)
    assert metric(http, "rerank_parsing_sentences") == 0
    answer = http.post("/parse", json={"text": "It is. " * 30}).json()
    assert [one["status"] for one in answer["sentences"]] == ["ok"] * 30


def test_a_parsing_process_that_dies_is_replaced(parsing: Server, http: httpx.Client) -> None:
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(http.post, "/parse", json=HANGING)
        until(lambda: parsers() == 1)
        os.kill(parsing_process_of(parsing), signal.SIGKILL)
        answer = asked.result()
    assert (answer.status_code, error_of(answer)["code"]) == (503, "parser-crashed")
    assert "retry-after" in answer.headers
    parsing.logged("parsing crashed")
    assert http.post("/parse", json={"text": "It is."}).status_code == 200
    assert http.get("/health/ready").status_code == 200


@pytest.mark.slow
def test_a_service_that_ends_takes_its_parsers_along(models: list[str]) -> None:
    flags = ("--parser-command", PARSER, "--drain-seconds", "0.5")
    with (
        serving(models, *flags) as server,
        server.client() as client,
        ThreadPoolExecutor(1) as threads,
    ):
        asked = threads.submit(client.post, "/parse", json=HANGING)
        until(lambda: parsers() == 1)
        process = parsing_process_of(server)
        server.process.send_signal(signal.SIGTERM)
        assert server.end() == 0
        assert asked.result().status_code == 503
        until(lambda: parsers() == 0 and not Path(f"/proc/{process}").exists())


def test_a_parser_that_is_named_has_to_work(models: list[str]) -> None:
    with serving(models, "--parser-command", "/no/such", wait=False) as server:
        assert server.process.wait(PATIENCE) == 2
        server.end()
        assert "/no/such: No such file" in str(server.log[-1])


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"parser_command": "'"}, "quotation"),
        ({"parser": ["none"]}, "there is no parser 'none'"),
        ({"parser": ["command"]}, "needs --parser-command"),
        ({"parser_command": "cat", "parser_format": "opennmt"}, "needs --parser-beam"),
        ({"parser_model": ["/no/such"]}, "/no/such: no such file, nor an installed ensemble"),
    ],
)
def test_what_is_no_parser(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        parser_of(load_settings(settings))


def test_bllip_is_loaded_before_the_first_text(models: list[str]) -> None:
    needs_bllip()
    with serving(models, "--parser", "bllip", "--parser-jobs", "2") as server:
        worker = str(Path(bllip.__file__).with_name("bllip_worker.py"))
        until(
            lambda: any(
                is_of(parser, process)
                for process in running("-P", "-m", "reranker.service.children.parsing_main")
                if is_of(process, server.process.pid)
                for parser in running("-P", worker)
            )
        )


def test_the_built_in_parser_needs_no_flag(server: Server, models: list[str]) -> None:
    """The trees are those of the command and of Python, and so is how sure they are."""
    text = "When the last guests left the hotel closed its kitchen. She met him (on Monday)."
    expected = list(Reranker.load(models).parse(text, create_parser("chart", ParserSettings())))
    with Client(server.url, timeout=300) as client:
        assert client.info()["parser"]["names"] == ["chart"]
        answers = client.parse(text)
    assert [each.ranking for each in answers] == [each.ranking for each in expected]
    assert [each.confidence for each in answers] == [each.confidence for each in expected]
    assert all(each.confidence for each in answers)


@pytest.mark.slow  # loads four models
def test_installed_models_are_served_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here those of the checkout, which is where the program is."""
    monkeypatch.chdir(tmp_path)
    with serving([]) as server, server.client() as client:
        names = [model["name"] for model in client.get("/models").json()["models"]]
    assert names == sorted(path.name for path in (ROOT / "ckpt").glob("*.pt"))


@pytest.mark.slow
def test_bllip_is_there_where_it_is_installed(models: list[str]) -> None:
    """With the model that is shipped; a parser that is killed costs one sentence."""
    needs_bllip()
    text = "When the last guests left the hotel closed its kitchen. She met him (on Monday)."
    parser = create_parser("bllip", ParserSettings())
    flags = ["--parser", "bllip", "--parser-jobs", "1"]
    with serving(models, *flags) as server, Client(server.url, timeout=300) as client:
        assert client.info()["parser"]["names"] == ["bllip"]
        expected = list(Reranker.load(models).parse(text, parser))
        parser.stop()
        found = client.parse(text)
        assert [one.ranking for one in found] == [one.ranking for one in expected]
        assert all(len(one) > 10 for one in found)
        long = " ".join(["the old man saw"] * 12)
        with ThreadPoolExecutor(1) as threads:
            asked = threads.submit(client.parse, [long] * 6)
            worker = str(Path(bllip.__file__).with_name("bllip_worker.py"))
            with server.client() as http:
                until(lambda: metric(http, "rerank_parsing_sentences") == 4)
            for process in running("-P", worker):
                if is_of(process, parsing_process_of(server)):
                    os.kill(process, signal.SIGKILL)
            answers = asked.result()
        assert [one.status for one in answers].count("failed") == 1
        (failed,) = (one for one in answers if one.status == "failed")
        assert failed.rejected[0].message == "the parser was killed by signal 9"
        assert len({one.ranking for one in answers if one.status == "ok"}) == 1
