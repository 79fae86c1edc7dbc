"""The flags that choose a text, and its splitting into sentences and words."""

from __future__ import annotations

import argparse
from typing import cast, get_args

from reranker.text.conventions import CONVENTIONS
from reranker.text.splitting import TextForm
from reranker.work.texts import TextSettings


def add_arguments(parser: argparse.ArgumentParser, number: str) -> None:
    """Add the flags that choose a text, ``number`` files as in argparse's ``nargs``, and its
    splitting into sentences and words."""
    text = "text: plain, .gz or .zst; - reads standard input"
    parser.add_argument("text", nargs=number, metavar="FILE", help=text)
    form = parser.add_mutually_exclusive_group()
    text = "one sentence per line (default: running text)"
    form.add_argument(
        "--sentences",
        dest="form",
        action="store_const",
        const="sentences",
        default="text",
        help=text,
    )
    text = "one sentence per line, a space between words"
    form.add_argument("--tokens", dest="form", action="store_const", const="tokens", help=text)
    text = "running text whose ends of lines end no sentence"
    form.add_argument("--prose", dest="form", action="store_const", const="prose", help=text)
    add_words(parser)


def add_words(parser: argparse.ArgumentParser, scope: str = "") -> None:
    """Add ``--words`` and ``--speakers``; ``scope`` begins their help texts, for example "for text:
    "."""
    text = (
        f"{scope}how to split words. gum: as GUM, CRAFT and OntoNotes 5 (hyphens and slashes are "
        "words); wsj: as the Wall Street Journal's treebank (they are not; quotes become `` and "
        "''); spaced: at spaces and punctuation; id: as the Indonesian treebank; zh: Chinese "
        "words; characters: each Chinese character (default: depends on the language)"
    )
    parser.add_argument("--words", choices=CONVENTIONS, help=text)
    text = (
        f"{scope}names before a colon at the beginning of a line are speakers, not words (default: "
        "decided by the text)"
    )
    parser.add_argument("--speakers", action=argparse.BooleanOptionalAction, help=text)


def settings(arguments: argparse.Namespace) -> TextSettings:
    """Return the settings that the flags describe; a command may lack some of the flags."""
    form = getattr(arguments, "form", "text")
    form = cast(TextForm, form if form in get_args(TextForm) else "text")
    words, longest, jobs = arguments.words, arguments.longest, arguments.jobs
    return TextSettings(form, words, longest, jobs, arguments.speakers)
