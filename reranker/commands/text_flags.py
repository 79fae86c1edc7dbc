"""The flags that say which text to read, and what its sentences and words are."""

from __future__ import annotations

import argparse
from typing import cast, get_args

from reranker.text.conventions import CONVENTIONS
from reranker.text.splitting import Form
from reranker.work.texts import TextSettings


def add_arguments(parser: argparse.ArgumentParser, number: str) -> None:
    """Add the flags that say which text to read, ``number`` files as in argparse's ``nargs``, and
    what its sentences and words are."""
    text = "text, plain, .gz or .zst; - reads standard input"
    parser.add_argument("text", nargs=number, metavar="FILE", help=text)
    form = parser.add_mutually_exclusive_group()
    text = "one sentence a line (default: running text)"
    form.add_argument(
        "--sentences",
        dest="form",
        action="store_const",
        const="sentences",
        default="text",
        help=text,
    )
    text = "one sentence a line, a space between words"
    form.add_argument("--tokens", dest="form", action="store_const", const="tokens", help=text)
    add_words(parser)


def add_words(parser: argparse.ArgumentParser, of: str = "") -> None:
    """Add ``--words``; ``of`` says of which files, if not of all."""
    text = (
        f"{of}split words as GUM, CRAFT and OntoNotes 5 do (hyphens and slashes are words); "
        "as the Wall Street Journal's treebank does (they are not, and quotes become `` and ''); "
        "or those of other languages: at spaces and punctuation, as the Indonesian treebank does, "
        "Chinese words, or every Chinese character by itself (default: what the language has)"
    )
    parser.add_argument("--words", choices=CONVENTIONS, help=text)


def settings(arguments: argparse.Namespace) -> TextSettings:
    """Return the settings that the flags describe; some commands have not all of them."""
    form = getattr(arguments, "form", "text")
    form = cast(Form, form if form in get_args(Form) else "text")
    return TextSettings(form, arguments.words, arguments.longest, arguments.jobs)
