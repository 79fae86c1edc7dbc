"""``POST /parse``: text in; out come the figures of ``rerank parse``, to the last digit."""

from __future__ import annotations

import json
import logging
import re
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest

from reranker.client import Client
from reranker.commands.main import main
from reranker.defaults import parse
from reranker.errors import RerankError
from reranker.parsers.parser import ParserSettings
from reranker.parsers.registry import create_parser
from reranker.pipeline import Reranker
from reranker.ranking import Ranking
from reranker.service.children.scoring_main import BROKEN
from reranker.service.http.answers import CONLLU, TABLE
from reranker.service.http.streams import LINES
from reranker.service.metrics import Metrics
from reranker.service.requests import schemas
from reranker.service.scheduling.engines import Engines
from reranker.service.settings import load_settings
from reranker.text.splitting import TextForm
from reranker.trees.tree import Tree
from tests.checkout import TOY_PARSER
from tests.reranker.span_models import save_spans
from tests.service.children.test_processes import children_of, kill
from tests.service.http.test_rerank import comparable, metric
from tests.service.requests.test_limits import error_of
from tests.service.servers import Server, failing_parser, serving
from tests.waiting import until

ROOT = Path(__file__).parents[3]
TEXT = "We saw the man. The man saw (us) on Monday!\n\nIsn't it well-known?"
ODD = "\x07 \u200b\ufeff. Что это? 我们看见了他。 \U0001f600 We saw \ud83d\ude00."


@pytest.fixture(scope="module")
def spans(tmp_path_factory: pytest.TempPathFactory) -> str:
    return save_spans(tmp_path_factory.mktemp("spans") / "spans.pt", 3)


@pytest.fixture(scope="module")
def ensemble(models: list[str], spans: str) -> list[str]:
    """Return an ensemble with the parser's model as a member."""
    return [*models, spans]


@pytest.fixture(scope="module")
def parsing(
    ensemble: list[str], spans: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    flags = ("--parser-model", spans, "--candidates", "7", "--max-characters", "50000")
    path = failing_parser(tmp_path_factory.mktemp("failing"))
    with serving(ensemble, *flags, PYTHONPATH=path) as server:
        yield server


@pytest.fixture(scope="module")
def http(parsing: Server) -> Iterator[httpx.Client]:
    with parsing.client() as client:
        yield client


def post(http: httpx.Client, text: str, accept: str = "*/*", **options: Any) -> httpx.Response:
    headers = {"Content-Type": "text/plain", "Accept": accept}
    return http.post(
        "/parse", content=text.encode("utf-8", "surrogatepass"), params=options, headers=headers
    )


def sentences(answer: httpx.Response) -> list[dict[str, Any]]:
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["sentences"]
    return found


def python(ensemble: list[str], spans: str, text: str, **options: Any) -> list[Ranking]:
    parser = create_parser("chart", ParserSettings(model=spans, candidates=7))
    with pytest.warns(UserWarning, match="words are unknown"):  # a toy, which knows few words
        return list(Reranker.load(ensemble).parse(text, parser, **options))


def command(
    folder: Path, text: str, output: str, ensemble: list[str], spans: str, *more: str
) -> str:
    """Return the output of ``rerank parse`` for a file named ``text``, as HTTP names texts."""
    (folder / "text").write_text(text, encoding="utf-8")
    flags = ["--models", *ensemble, "--parser-model", spans, "--candidates", "7"]
    flags += ["--output", output, "--out", str(folder / output), *more]
    assert main(["parse", str(folder / "text"), *flags]) == 0
    return (folder / output).read_text(encoding="utf-8").replace(f"{folder}/", "")


def test_there_is_no_process_but_the_one_that_scores(parsing: Server, http: httpx.Client) -> None:
    before = children_of(parsing, "scoring_main")
    assert len(sentences(post(http, "We saw the man."))) == 1
    assert children_of(parsing, "scoring_main") == before and len(before) == 1
    assert metric(http, 'rerank_memory_bytes{process="scoring"}') > 1e7
    assert metric(http, "rerank_parser_seconds_count") > 0


def test_the_figures_are_the_commands(
    http: httpx.Client, tmp_path: Path, ensemble: list[str], spans: str
) -> None:
    rows = [
        json.loads(row) for row in command(tmp_path, TEXT, "ranked", ensemble, spans).splitlines()
    ]
    found = sentences(post(http, TEXT))
    assert [comparable(one) for one in found] == [comparable(row) for row in rows]
    for one, row in zip(found, rows, strict=True):
        del row["origin"]["file"]
        assert one["origin"] == row["origin"]


def test_the_best_alone_is_the_commands(
    http: httpx.Client, tmp_path: Path, ensemble: list[str], spans: str
) -> None:
    """The others are not scored, and still counted."""
    output = command(tmp_path, TEXT, "ranked", ensemble, spans, "--top", "1")
    answer = post(http, TEXT, top_n=1)
    rows = map(json.loads, output.splitlines())
    assert [comparable(one) for one in sentences(answer)] == [comparable(row) for row in rows]
    assert answer.json()["usage"] == post(http, TEXT).json()["usage"]


def test_lists_of_another_parser_are_ranked_as_the_command_ranks_them(
    http: httpx.Client, tmp_path: Path, ensemble: list[str]
) -> None:
    """As docs/service.md has it."""
    text, out = tmp_path / "text", tmp_path / "out"
    text.write_text(TEXT, encoding="utf-8")
    flags = ["--models", *ensemble, "--parser-command", TOY_PARSER, "--output", "ranked"]
    assert main(["parse", str(text), *flags, "--out", str(out)]) == 0
    lists = out.read_text(encoding="utf-8")
    answer = http.post("/rerank", content=lists, headers={"Content-Type": "text/plain"})
    rows = map(json.loads, lists.splitlines())
    assert [comparable(one) for one in sentences(answer)] == [comparable(row) for row in rows]


def test_the_figures_are_those_of_python(parsing: Server, ensemble: list[str], spans: str) -> None:
    expected = python(ensemble, spans, TEXT)
    with Client(parsing.url) as client:
        found = client.parse(TEXT)
    assert len(found) == 3 and all(1 < len(each) <= 7 for each in found)
    for here, there in zip(expected, found, strict=True):
        assert here.ranking == there.ranking and here.id == there.id
        assert here.confidence == there.confidence and here.confidence is not None
        assert here.better_than_first is there.better_than_first is None
        # Parser and member are one model, which counts the same tree alike.
        best = here.ranking[0]
        assert best.parser_score == pytest.approx(-best.member_nll[2], abs=2e-4)


@pytest.mark.parametrize("speakers", [None, True, False])
def test_speakers_are_those_of_the_command_and_of_python(
    http: httpx.Client,
    parsing: Server,
    tmp_path: Path,
    ensemble: list[str],
    spans: str,
    caplog: pytest.LogCaptureFixture,
    speakers: bool | None,
) -> None:
    caplog.set_level(logging.INFO)
    text = "Anna: We saw the man.\nBen: It is [laughter] late.\nAnna: Is it?\n"
    flags = {None: [], True: ["--speakers"], False: ["--no-speakers"]}[speakers]
    rows = command(tmp_path, text, "ranked", ensemble, spans, *flags).splitlines()
    expected = [json.loads(row)["origin"] for row in rows]
    names = [None] * 3 if speakers is False else ["Anna", "Ben", "Anna"]
    assert [origin.get("speaker") for origin in expected] == names
    caplog.clear()
    rankings = python(ensemble, spans, text, speakers=speakers)
    assert any("a transcript" in message for message in caplog.messages) == (speakers is None)
    with Client(parsing.url) as client:
        there = client.parse(text, speakers=speakers)
    for each, other in zip(rankings, there, strict=True):
        assert each.origin is not None and other.origin is not None
        assert each.origin.offsets == other.origin.offsets
        assert each.origin.speaker == other.origin.speaker
    answer = http.post("/parse", json={"text": text, "speakers": speakers}).json()
    found = [each["origin"] for each in answer["sentences"]]
    assert [{**each, "file": None} for each in found] == [
        {**each, "file": None} for each in expected
    ]
    assert any("a transcript" in each for each in answer["warnings"]) == (speakers is None)


@pytest.mark.parametrize(
    ("form", "flags", "number"),
    [
        ("text", [], 3),
        ("prose", ["--prose"], 2),
        ("sentences", ["--sentences"], 3),
        ("tokens", ["--tokens"], 3),
    ],
)
def test_the_form_of_a_text_is_chosen_as_in_the_command(
    http: httpx.Client,
    parsing: Server,
    tmp_path: Path,
    ensemble: list[str],
    spans: str,
    form: TextForm,
    flags: list[str],
    number: int,
) -> None:
    text = "The man left Anna\nJones . We saw it .\n"
    text = text if form == "text" or form == "prose" else text.replace(". We", ".\nWe")
    rows = map(json.loads, command(tmp_path, text, "ranked", ensemble, spans, *flags).splitlines())
    expected = [row["origin"]["offsets"] for row in rows]
    assert len(expected) == number
    answer = http.post("/parse", json={"text": text, "form": form}).json()
    assert [each["origin"]["offsets"] for each in answer["sentences"]] == expected
    assert [w for w in answer["warnings"] if "--" in w] == []
    assert any("(form 'prose': they do not)" in w for w in answer["warnings"]) == (form == "text")
    plain = http.post(f"/parse?form={form}", content=text, headers={"Content-Type": "text/plain"})
    assert len(plain.json()["sentences"]) == number
    with Client(parsing.url) as client:
        assert len(client.parse(text, form=form)) == number


def test_a_form_is_not_for_lists_and_speakers_are_not_for_tokens(http: httpx.Client) -> None:
    for body in ({"sentences": ["It runs."], "form": "prose"}, {"text": "It", "form": "lines"}):
        assert http.post("/parse", json=body).status_code == 422
    body_of_tokens = {"text": "It runs .", "form": "tokens", "speakers": True}
    answer = http.post("/parse", json=body_of_tokens)
    assert answer.status_code == 422 and "speakers" in answer.text


@pytest.mark.parametrize(
    "accept, output", [("text/plain", "best"), (CONLLU, "conllu"), (TABLE, "brackets")]
)
def test_trees_and_conllu_are_the_commands(
    http: httpx.Client, tmp_path: Path, ensemble: list[str], spans: str, accept: str, output: str
) -> None:
    answer = post(http, TEXT, accept)
    assert answer.headers["content-type"] == f"{accept}; charset=utf-8"
    assert answer.headers["vary"] == "Accept"
    assert answer.text == command(tmp_path, TEXT, output, ensemble, spans)
    if output == "best":
        assert len(answer.text.splitlines()) == 3


def test_json_has_the_constituents_of_the_command(
    http: httpx.Client, tmp_path: Path, ensemble: list[str], spans: str
) -> None:
    answer = post(http, TEXT)
    schemas.ParseAnswer.model_validate(answer.json())
    rows = [
        json.loads(row) for row in command(tmp_path, TEXT, "json", ensemble, spans).splitlines()
    ]
    for one, row in zip(sentences(answer), rows, strict=True):
        names = ("constituents", "confidence", "better_than_first", "entropy")
        assert {name: one[name] for name in names} == {name: row[name] for name in names}
        assert one["entropy"] > 0 and "brackets" not in one
        known = [each["probability"] for each in one["constituents"][1:]]
        assert one["confidence"] == pytest.approx(sum(known) / len(known), abs=1e-4)
    assert "constituents" not in sentences(post(http, TEXT, return_trees=False))[0]


def test_all_brackets_on_request(http: httpx.Client, ensemble: list[str], spans: str) -> None:
    for one, ranking in zip(
        sentences(post(http, TEXT, return_brackets=True)),
        python(ensemble, spans, TEXT),
        strict=True,
    ):
        assert ranking.certainty is not None
        found = {(start, end, label): value for start, end, label, value in one["brackets"]}
        assert found == pytest.approx(dict(ranking.certainty.probabilities), abs=1e-4)
        for each in one["constituents"][1:]:
            assert found[(*each["words"], each["label"])] == each["probability"]


def test_the_doubt_is_told_with_drawings(
    http: httpx.Client, ensemble: list[str], spans: str
) -> None:
    answer = post(http, TEXT, return_drawings=True)
    schemas.ParseAnswer.model_validate(answer.json())
    for one, ranking in zip(sentences(answer), python(ensemble, spans, TEXT), strict=True):
        assert ranking.doubt is not None
        assert one["doubt"] == {"parts": [*ranking.doubt.parts], "other": ranking.doubt.other}
        best, *others = one["ranking"]
        assert best["confidence"] == one["confidence"]
        assert {row["confidence"] for row in others} != {one["confidence"]}
        assert all(row["svg"].startswith("<svg") for row in one["ranking"])


def test_the_client_knows_how_sure_the_parser_is(
    parsing: Server, ensemble: list[str], spans: str
) -> None:
    with Client(parsing.url) as client:
        answers = client.parse(TEXT)
    for answer, ranking in zip(answers, python(ensemble, spans, TEXT), strict=True):
        assert answer.certainty is not None and ranking.certainty is not None
        assert answer.certainty.entropy == pytest.approx(ranking.certainty.entropy, abs=1e-4)
        assert answer.certainty.probabilities == pytest.approx(
            dict(ranking.certainty.probabilities), abs=1e-4
        )


def test_lines_are_the_answer_in_pieces(http: httpx.Client) -> None:
    whole = post(http, TEXT).json()
    first, *lines, last = map(json.loads, post(http, TEXT, LINES).text.splitlines())
    assert first["start"]["sentences"] == 3
    assert [line["sentence"] for line in lines] == whole["sentences"]
    assert last == {"end": {"usage": whole["usage"], "warnings": whole["warnings"]}}
    assert len(whole["warnings"]) == 1  # the toy parser knows few of the words
    trees = whole["usage"]["candidates"]
    assert trees == sum(len(one["ranking"]) for one in whole["sentences"])
    tokens = sum(
        entry["tokens"]
        for one in whole["sentences"]
        for entry in one["ranking"]
        if entry["duplicate_of"] is None
    )
    assert whole["usage"]["tokens"] == tokens


def test_another_form_is_refused(http: httpx.Client) -> None:
    answer = post(http, TEXT, "text/html")
    assert (answer.status_code, error_of(answer)["code"]) == (406, "not-acceptable")
    for form in ("application/json", "text/plain", CONLLU):
        assert form in error_of(answer)["message"]


def test_blank_text_is_refused(http: httpx.Client) -> None:
    answer = post(http, " \n\t\n")
    assert (answer.status_code, error_of(answer)["code"]) == (422, "unreadable")


def test_odd_text_is_parsed_all_the_same(http: httpx.Client) -> None:
    """Control characters, other scripts, half a surrogate pair."""
    answer = post(http, ODD, return_trees=True)
    found = sentences(answer)
    assert all(one["status"] == "ok" for one in found)
    assert any("U+0007" in warning for warning in answer.json()["warnings"])
    for one in found:
        assert len(one["constituents"][0]["words"]) == 2
        assert one["constituents"][0]["words"] == [0, len(one["origin"]["offsets"])]


def test_long_sentences(http: httpx.Client) -> None:
    longest, longer = sentences(post(http, "we saw " * 100 + ".\n\n" + "we saw " * 101))[:2]
    # 201 words with the full stop: both are too long for the limit.
    assert [one["status"] for one in (longest, longer)] == ["failed", "failed"]
    assert longest["entropy"] is longest["confidence"] is None
    assert "201 words, more than 200" in longest["rejected"][0]["message"]
    (one,) = sentences(post(http, "we saw " * 99 + "it.", top_n=1))
    assert one["status"] == "ok" and one["constituents"][0]["words"] == [0, 200]


def test_a_long_text_does_not_hold_up_a_list(parsing: Server, http: httpx.Client) -> None:
    """The list is answered while most of the text still waits, whoever asked first."""
    before = metric(http, "rerank_sentences_total")
    with (
        parsing.client() as other,
        other.stream(
            "POST",
            "/parse",
            content=b"The man saw us on Monday with eyes.\n\n" * 900,
            headers={"Content-Type": "text/plain", "Accept": LINES, "X-Request-Timeout": "600"},
        ) as stream,
    ):
        lines = stream.iter_lines()
        next(lines)
        body = {"documents": ["(S1 (NN a))", "(S1 (NP (NN a)))"]}
        assert http.post("/rerank", json=body).status_code == 200
        assert sentences(post(http, "We saw it."))[0]["status"] == "ok"
        assert metric(http, "rerank_sentences_total") - before < 800
        assert metric(http, "rerank_parsing_sentences") > 100
    # Who hangs up has nothing parsed any more.
    until(lambda: metric(http, "rerank_parsing_sentences") == 0)
    until(lambda: metric(http, "rerank_requests_in_flight") == 0)


def test_a_reload_takes_the_parser_along(models: list[str], tmp_path: Path) -> None:
    """And until there is one, no other model parses, not even in a replacement."""
    path = tmp_path / "spans.pt"
    spans = save_spans(path, 3)
    with serving(models, "--parser-model", spans) as server, server.client() as client:
        old = sentences(post(client, TEXT))
        save_spans(path, 4)
        assert sentences(post(client, TEXT)) == old
        server.process.send_signal(signal.SIGHUP)
        server.logged("models reloaded")
        new = sentences(post(client, TEXT))
        assert [one["ranking"] for one in new] != [one["ranking"] for one in old]
        # A file that is gone: what is loaded goes on.
        path.unlink()
        server.process.send_signal(signal.SIGHUP)
        server.logged("models not reloaded")
        assert sentences(post(client, TEXT)) == new
        save_spans(path, 3)
        kill(*children_of(server, "scoring_main"))
        why = "the parser's model has changed since it was loaded"
        server.logged("scoring crashed and is restarted", error=why)
        # Until it is given up, requests wait for another try.
        headers = {"X-Request-Timeout": "0.2"}
        assert client.post("/parse", json={"text": TEXT}, headers=headers).status_code in (503, 504)


def test_a_deadline_ends_parsing(http: httpx.Client) -> None:
    headers = {"X-Request-Timeout": "0.5"}
    answer = http.post("/parse", json={"text": "We hang here."}, headers=headers)
    assert (answer.status_code, error_of(answer)["code"]) == (504, "deadline")
    assert sentences(post(http, "It is."))[0]["status"] == "ok"


def test_what_the_parser_fails_at_costs_a_sentence(parsing: Server, http: httpx.Client) -> None:
    """Here a fault that is put into it. The log has its kind, and no words of users."""
    found = sentences(post(http, "We saw it. Aardvarks crash. We saw the man."))
    assert [one["status"] for one in found] == ["ok", "failed", "ok"]
    assert found[1]["fallback"] == "(TOP (S (XX Aardvarks) (XX crash) (XX .)))"
    assert found[1]["rejected"][0]["message"] == BROKEN
    assert found[1]["confidence"] is None and len(found[1]["constituents"]) == 2
    line = parsing.logged("the parser failed")
    assert line["error"] == "ValueError" and "Aardvarks" not in str(parsing.log)


def test_a_model_that_is_none_stops_the_service(models: list[str]) -> None:
    """Its models are not loaded; how it ends then: tests/service/test_read_only.py."""
    settings = load_settings({"models": models, "parser_model": models[0]})
    engines = Engines(settings, Metrics())
    try:
        with pytest.raises(RerankError, match="not a span model"):
            engines.load()
    finally:
        engines.stop()


def test_the_description_has_every_form(http: httpx.Client) -> None:
    document = http.get("/openapi.json").json()
    described = document["paths"]["/parse"]["post"]["responses"]
    forms = {"application/json", "text/plain", CONLLU, TABLE, LINES}
    assert {*described["200"]["content"]} == forms and "406" in described
    schema = described["200"]["content"]["application/json"]["schema"]
    answer = post(http, TEXT, return_brackets=True).json()
    jsonschema.validate(answer, {**schema, "components": document["components"]})


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
    assert [len(one["ranking"]) for one in answer["sentences"]] == [1, 1, 1]
    assert "tree" not in answer["sentences"][0]["ranking"][0]
    assert answer["warnings"][0] == "line 1: byte 0xff is not UTF-8; U+FFFD is in its place"


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


@pytest.mark.parametrize(
    "body, status, code, part",
    [
        ({"text": "a " * 25_001}, 422, "over-limit", "max_characters = 50000"),
        ({"text": "It is. " * 1001}, 422, "over-limit", "max_sentences = 1000"),
        ({"text": "\n"}, 422, "unreadable", "no words"),
        ({"text": "a", "top_n": 0}, 422, "invalid", "top_n"),
        ({}, 422, "invalid", "text"),
    ],
)
def test_limits(http: httpx.Client, body: Any, status: int, code: str, part: str) -> None:
    answer = http.post("/parse", json=body)
    assert (answer.status_code, error_of(answer)["code"]) == (status, code)
    assert part in f"{error_of(answer)['message']} {error_of(answer)['param']}"


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
    assert information["parser"] == {"names": ["chart"], "language": "en", "words": "gum"}
    limits = information["limits"]
    assert (limits["longest"], limits["max_characters"]) == (200, 50_000)
    names = [
        'rerank_rejected_total{code="unparsed"}',
        "rerank_sentences_total",
        "rerank_parser_seconds_count",
        'rerank_requests_total{method="POST",path="/parse",status="200"}',
    ]
    before = [metric(http, name) for name in names]
    http.post("/parse", json={"text": "We saw it. We crash here. We saw the man."})
    after = [metric(http, name) for name in names]
    assert [new - old for new, old in zip(after, before, strict=True)] == [1, 3, 3, 1]
    assert metric(http, "rerank_parsing_sentences") == 0


def test_the_log_has_counts_and_no_words(parsing: Server, http: httpx.Client) -> None:
    http.post("/parse", json={"text": "Aardvark crash."}, headers={"X-Request-ID": "counted"})
    line = parsing.logged("request", request_id="counted")
    assert (line["path"], line["sentences"], line["words"], line["rejected"]) == ("/parse", 1, 3, 1)
    assert "Aardvark" not in str(parsing.log)


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


def test_installed_models_are_served_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here those of the checkout, which is where the program is. The built-in parser's trees are
    ordered by its own model, as by the command, unless language models are asked for."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RERANK_MODELS", raising=False)
    text = "I saw her duck."
    with serving([]) as server, server.client() as client:
        names = [model["name"] for model in client.get("/models").json()["models"]]
        own, asked = (
            client.post("/parse", json={"text": text, **more}).json()
            for more in ({}, {"lm_weight": 1})
        )
    assert names == sorted(path.name for path in (ROOT / "ckpt").glob("*.pt"))
    assert [each["name"] for each in own["models"]] == ["spans.pt"]
    assert [each["name"] for each in asked["models"]] == names
    for answer, weight in ((own, None), (asked, 1.0)):
        (expected,) = parse(text, lm_weight=weight)
        (sentence,) = answer["sentences"]
        scores = [(each["index"], each["relevance_score"]) for each in sentence["ranking"]]
        assert scores == [(each.index, each.score) for each in expected]
