"""Directives that write the reference from what it is about: ``command`` from a command's
``--help``, ``http-paths`` from the service's OpenAPI document."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from reranker.commands.main import command_parser
from reranker.service.http import openapi
from reranker.service.http.app import create_app
from reranker.service.settings import load_settings

_WIDTH = "90"


class Command(SphinxDirective):
    """The ``--help`` of a command, and a section for each of its subcommands."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        os.environ["COLUMNS"] = _WIDTH  # which argparse asks for
        command, *parts = _parsers(self.arguments[0])
        return [_help(command), *map(self._section, parts)]

    def _section(self, parser: argparse.ArgumentParser) -> nodes.Node:
        section = nodes.section(ids=[parser.prog.replace(" ", "-")], names=[parser.prog])
        section += [nodes.title(text=parser.prog), _help(parser)]
        return section


def _help(parser: argparse.ArgumentParser) -> nodes.Node:
    text = parser.format_help()
    return nodes.literal_block(text, text, language="text")


def _parsers(name: str) -> Iterator[argparse.ArgumentParser]:
    """Yield the command's parser, and the parsers of its subcommands."""
    parser = command_parser(name)
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from dict.fromkeys(action.choices.values())


class HttpPaths(SphinxDirective):
    """A section for each path, with its parameters, bodies and answers."""

    def run(self) -> list[nodes.Node]:
        app = create_app(load_settings({}))
        document = json.loads(openapi.written(app, has_keys=False))
        text = "\n".join(_Markdown(document).lines())
        return self.parse_text_to_nodes(text, allow_section_headings=True)


class _Markdown:
    """An OpenAPI document as Markdown."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document
        self._schemas: dict[str, dict[str, Any]] = document["components"]["schemas"]

    def lines(self) -> Iterator[str]:
        for path, operations in self._document["paths"].items():
            for method, operation in operations.items():
                yield from self._operation(f"{method.upper()} {path}", operation)
        yield from ("## Objects", "")
        for name, schema in sorted(self._schemas.items()):
            yield from (f"### {name}", "", _one_line(schema.get("description", "")), "")
            yield from self._fields(schema)

    def _operation(self, title: str, operation: dict[str, Any]) -> Iterator[str]:
        yield from (f"## {title}", "", operation.get("description", ""), "")
        if parameters := operation.get("parameters"):
            yield from ("| parameter | in | type | |", "|---|---|---|---|")
            for each in parameters:
                cells = (f"`{each['name']}`", each["in"], self._type(each["schema"]))
                yield f"| {' | '.join(cells)} | {_one_line(each.get('description', ''))} |"
            yield ""
        for media, content in operation.get("requestBody", {}).get("content", {}).items():
            yield from (f"Body, `{media}`: {self._type(content['schema'])}", "")
        yield from ("| status | answer |", "|---|---|")
        for status, response in operation["responses"].items():
            yield f"| {status} | {self._answer(status, response)} |"
        yield ""

    def _answer(self, status: str, response: dict[str, Any]) -> str:
        if status != "200":
            return _one_line(response["description"])
        forms = response.get("content", {}).items()
        return "; ".join(
            f"`{media}`: {self._type(content.get('schema', {})) or 'text'}"
            for media, content in forms
        )

    def _fields(self, schema: dict[str, Any]) -> Iterator[str]:
        properties = schema.get("properties")
        if not properties:
            return
        yield from ("| field | type | |", "|---|---|---|")
        for name, field in properties.items():
            notes = [_one_line(field.get("description", ""))]
            if "default" in field:
                notes.append(f"default: `{json.dumps(field['default'])}`")
            text = "; ".join(filter(None, notes))
            yield f"| `{name}` | {self._type(field)} | {text} |"
        yield ""

    def _type(self, schema: dict[str, Any]) -> str:
        """Return a schema in a few words, with links to the objects."""
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            return f"[{name}](#{name.lower()})"
        for key in ("anyOf", "oneOf"):
            if key in schema:
                return " or ".join(self._type(each) for each in schema[key])
        if "enum" in schema:
            return ", ".join(f"`{json.dumps(each)}`" for each in schema["enum"])
        if schema.get("type") == "array":
            parts = schema.get("prefixItems")
            inner = ", ".join(map(self._type, parts)) if parts else self._type(schema["items"])
            return f"list of {inner}" if inner else "list"
        bounds = [
            f"{sign} {schema[key]}"
            for key, sign in (
                ("minimum", "≥"), ("exclusiveMinimum", ">"), ("maximum", "≤"),
            )
            if key in schema
        ]  # fmt: skip
        return " ".join([str(schema.get("type", "")), *bounds])


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("command", Command)
    app.add_directive("http-paths", HttpPaths)
    return {"parallel_read_safe": True}
