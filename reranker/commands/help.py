"""The help of commands, the flags most used first, and one line about a flag that is wrong."""

from __future__ import annotations

import argparse
import difflib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from reranker import registry
from reranker.files.visible import visible

_EXAMPLES = 4  # lines of them in the short help, their heading among them
_NUMBER = re.compile(r"-\d+|-\d*\.\d+")  # texts that argparse takes for a value


def text(parser: argparse.ArgumentParser, groups: Mapping[str, str], is_short: bool) -> str:
    """Return the help of a parser. ``groups`` has the names of flags by title. The first group has
    the flags used most; the short help shows that group alone."""
    left = {_name(action): action for action in parser._actions if _is_shown(action)}
    sections = {
        title: [left.pop(name) for name in names.split()] for title, names in groups.items()
    }
    sections["help"] = [*left.values()]
    end = parser.epilog or ""
    if is_short:
        first, *others = sections
        more = sum(len(sections[title]) for title in others)
        status = ", and the exit status" if "exit status" in end else ""
        lines = end.splitlines()[:_EXAMPLES]
        while lines and lines[-1].endswith("\\"):  # whole commands only
            lines.pop()
        examples = "\n".join(lines)
        end = f"{examples}\n\n{parser.prog} --help-all: {more} more flags{status}"
        sections = {first: sections[first]}
    formatter = parser._get_formatter()
    formatter.add_usage(parser.usage, [], [])
    formatter.add_text(parser.description)
    for title, actions in sections.items():
        formatter.start_section(title)
        formatter.add_arguments(actions)
        formatter.end_section()
    formatter.add_text(end)
    return formatter.format_help()


def description(command: str) -> str:
    """Return the text above a command's flags: above those of ``rerank`` itself, the list of
    commands; for a command of another package, the first line of its module's docstring."""
    if command == "rerank":
        commands = "\n".join(f"  {name:12}{text}" for name, text in summaries().items())
        return (
            f"commands, most used first:\n{commands}\n\n"
            "More: rerank COMMAND --help. Without a command, rerank chooses the best of\n"
            "a parser's n-best trees with an ensemble of language models:"
        )
    if command in registry.built_in("commands"):
        return _summary(command)
    own = (registry.load("commands", command).__doc__ or "").strip().partition("\n")[0]
    return own or _summary(command)


def summaries() -> dict[str, str]:
    """Return a line about each command, the most used first, commands of other packages last."""
    names = dict.fromkeys([*registry.built_in("commands"), *registry.names("commands")])
    return {name: _summary(name) for name in names}


def _summary(name: str) -> str:
    entry = registry.built_in("commands").get(name)
    return entry.help if entry else f"of the package {registry.package_of('commands', name)}"


def error_line(parser: argparse.ArgumentParser, typed: Sequence[str], message: str) -> str:
    """Return the line about a mistake in the typed command; the line names the flag that was
    probably meant."""
    flags = dict(_flags(parser))
    wrong = next((word for word in _typed_flags(typed) if word not in flags), None)
    if wrong is not None:
        near = _nearest(wrong, [flag for flag, is_shown in flags.items() if is_shown])
        hint = f"did you mean {near}?" if near else f"see {parser.prog} --help-all"
        if not near and wrong[:2] != "--":  # a pattern or a file, perhaps
            hint += "; what follows -- is never a flag"
        message = f"there is no flag {wrong}; {hint}"
    elif "arguments are required" in message:
        # A flag that takes any number of values has taken the words behind it.
        greedy = {
            flag
            for each in parser._actions
            if each.nargs in ("+", "*")
            for flag in each.option_strings
        }
        taken = [flag for flag in _typed_flags(typed) if flag in greedy]
        taker = taken[0] if taken and " -" not in message else ""  # a flag may stand anywhere
        message += f"; it stands before {taker}" if taker else f"; see {parser.prog} --help"
    return f"{parser.prog}: error: {visible(message)}\n"


def no_choice(value: object, choices: Iterable[object]) -> str:
    """Return the message about a value that is none of the choices."""
    known = [str(choice) for choice in choices]
    near = _nearest(str(value), known)
    hint = f"; did you mean {near}?" if near else ""
    return f"invalid choice: {value!r}{hint} (there are {', '.join(known)})"


def no_command(word: str) -> str:
    """Return the message that says what to type instead of ``rerank WORD``."""
    if os.path.exists(word) or os.path.dirname(word) or os.path.splitext(word)[1]:
        return (
            f"{word} is not a command; to rerank n-best lists, or to parse plain text:\n"
            f"  rerank --nbest {word}\n"
            f"  rerank parse {word}"
        )
    from reranker.commands.rerank import GROUPS

    if f"--{word}" in " ".join(GROUPS.values()).split():
        return f"unknown command: {word}; did you mean rerank --{word}?"
    known = registry.names("commands")
    similar = [name for name in known if word.startswith(name)]
    similar += difflib.get_close_matches(word, known, n=1)
    if similar:
        return f"unknown command: {word}; did you mean {similar[0]}?"
    return f"unknown command: {word}; there are {', '.join(known)} (see rerank --help)"


def _name(action: argparse.Action) -> str:
    """Return the first long name of a flag, or the name of a positional argument."""
    return next((name for name in action.option_strings if name.startswith("--")), action.dest)


def _is_shown(action: argparse.Action) -> bool:
    return action.help != argparse.SUPPRESS


def _flags(parser: argparse.ArgumentParser) -> Iterator[tuple[str, bool]]:
    """Yield the flags of a parser and of its subparsers, and whether the help shows each."""
    for action in parser._actions:
        yield from ((flag, _is_shown(action)) for flag in action.option_strings)
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                yield from _flags(each)


def _typed_flags(words: Iterable[str]) -> Iterator[str]:
    """Yield the words that argparse takes for flags, without their values."""
    for word in words:
        if word == "--":
            return
        if word.startswith("-") and word != "-" and " " not in word and not _NUMBER.fullmatch(word):
            yield word.partition("=")[0]


def _nearest(word: str, known: Sequence[str]) -> str | None:
    """Return the shortest of the known words that ``word`` begins, else the most similar one."""
    bare = word.lstrip("-").lower()
    begun = [each for each in known if bare and each.lstrip("-").startswith(bare)]
    if begun:
        return min(begun, key=len)
    # Without hyphens, which all flags have in common.
    by_name = {each.lstrip("-"): each for each in known}
    similar = difflib.get_close_matches(bare, by_name, 1)
    return by_name[similar[0]] if similar else None
