"""Features by name: this repository's in one table, other packages' through entry points.

Text alone, so ``rerank --help`` imports no feature. Packages add theirs in ``pyproject.toml``::

    [project.entry-points."reranker.commands"]
    depth = "my_package.depth"

    [project.entry-points."reranker.parsers"]
    mine = "my_package.parser:MyParser"

    [project.entry-points."reranker.outputs"]
    bare = "my_package.bare:Bare"
"""

from __future__ import annotations

import functools
import sys
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from reranker.errors import InputError

Group = Literal[
    "commands",
    "parsers",
    "outputs",
    "trainings",
    "servers",
    "treebanks",
    "tree-files",
]
"""``commands``: modules with ``add_arguments(parser)``, ``run(arguments)``, which returns the exit
status, and perhaps ``EXAMPLES``, the end of ``--help``, and ``GROUPS`` of flags with a ``USAGE``
(reranker.commands.help); a RerankError is exit status 2.
``parsers``: a ``Factory`` (reranker.parsers.parser). ``outputs``: subclasses of ``Output``
(reranker.outputs.output), made without arguments.
``trainings``: modules of `rerank train` by architecture, ``language-model`` for all others, with
``CONFIG``, ``TAKES`` (flags) and ``new_run(arguments, config, processes)``. ``servers``: functions
that serve as `rerank serve` does, outside its own process, from its settings and an address or
None to the exit status. ``treebanks``: readers of treebanks without brackets, functions from the
name of a file, its lines and a function for warnings to ``TreePiece``s (reranker.trees.treebank),
by the ``treebank`` of a ``Kind`` (reranker.files.kinds). ``tree-files``: modules that write such,
with ``write(tree, position)``, and ``START`` and ``END`` of a file."""


class Entry(NamedTuple):
    """A feature of this repository."""

    target: str  # a module, or module:attribute
    help: str = ""  # the line of `rerank --help`


def _plugin(name: str, help: str) -> Entry:
    return Entry(f"reranker.plugins.{name}.command", help)


_TREEBANKS = "reranker.plugins.treebanks"
_READ = ("conll2012", "conllu", "corenlp_json", "corenlp_xml", "export", "tigerxml")
_WRITTEN = ("conll2012", "conllu", "export", "tigerxml")
_PLUGINS = Path(__file__).with_name("plugins")

_OURS: dict[Group, dict[str, Entry]] = {
    "commands": {  # as `rerank --help` lists them, the most used first
        "parse": Entry(
            "reranker.commands.parse",
            "text in, the best tree of each sentence out: parse and rerank",
        ),
        "show": _plugin(
            "showing", "draw trees: the best beside the parser's first, right or wrong"
        ),
        "grep": _plugin("grep", "search trees, parser output or text for a pattern"),
        "measure": _plugin("measure", "how complex the syntax of a text is, and how sure that is"),
        "clauses": _plugin("clauses", "the clauses of a text, of which kind, and how sure that is"),
        "surprisal": _plugin("surprisal", "what each word of a text costs a reader: its surprisal"),
        "serve": Entry("reranker.commands.serve", "rerank over HTTP, with a web page"),
        "models": Entry("reranker.commands.models", "the language models that are installed"),
        "eval": Entry("reranker.commands.evaluate", "EVALB's figures for two treebank files"),
        "check": _plugin("checking", "the brackets of a treebank that are most likely wrong"),
        "compare": Entry(
            "reranker.plugins.tuning.compare_command",
            "whether the difference of two parsers' F1 is more than chance",
        ),
        "validate": Entry(
            "reranker.commands.validate", "what is in an n-best file, and what is wrong with it"
        ),
        "convert": Entry(
            "reranker.commands.convert", "convert n-best files from one format to another"
        ),
        "tune": _plugin(
            "tuning", "find the best --lm-weight and more, from ranked output and gold"
        ),
        "train": _plugin("training", "train a language model on a treebank, or an encoder-decoder"),
        "adapt": _plugin(
            "adapting", "train the models on to your own kind of text, without a treebank"
        ),
        "generate": _plugin("generation", "trees, translations or headlines by beam search"),
        "analyse": _plugin("analysis", "what models do: the papers' tables and figures about them"),
        "cluster": _plugin("cluster", "rerank many files, here or on many machines, with Ray"),
        "completion": Entry(
            "reranker.commands.completion", "print a script for tab completion in bash, zsh or fish"
        ),
    },
    "parsers": {
        "beam": Entry("reranker.plugins.surprisal.beam_parser:BeamParser"),
        "benepar": Entry("reranker.plugins.other_parsers.benepar:BeneparParser"),
        "bllip": Entry("reranker.plugins.other_parsers.bllip:BllipParser"),
        "chart": Entry("reranker.parsers.chart:ChartParser"),
        "command": Entry("reranker.parsers.command:CommandParser"),
        "encdec": Entry("reranker.plugins.generation.encdec_parser:EncdecParser"),
        "stanza": Entry("reranker.plugins.other_parsers.stanza:StanzaParser"),
    },
    "outputs": {  # as the help of `--output` lists them
        "best": Entry("reranker.outputs.output:Best", "the best tree on a line"),
        "pretty": Entry("reranker.outputs.penn:Pretty", "over several lines"),
        "conllu": Entry("reranker.outputs.conllu:CoNLLU", "as CoNLL-U"),
        "json": Entry("reranker.outputs.spans:Json", "with its words and brackets"),
        "brackets": Entry("reranker.outputs.brackets:Brackets", "a table of its brackets"),
        "ranked": Entry("reranker.outputs.output:Ranked", "every candidate, as JSON"),
    },
    "trainings": {
        "encoder-decoder": Entry("reranker.plugins.generation.pair_run"),
        "language-model": Entry("reranker.plugins.training.language_model_run"),
        "spans": Entry("reranker.plugins.training.span_run"),
    },
    "servers": {"ray": Entry("reranker.plugins.cluster.command:serve")},
    "treebanks": {name: Entry(f"{_TREEBANKS}.{name}:read") for name in _READ},
    "tree-files": {name: Entry(f"{_TREEBANKS}.{name}") for name in _WRITTEN},
}


def ours(group: Group) -> dict[str, Entry]:
    """Return this repository's features by name, without those of plug-ins that are not there."""
    entries = _OURS.get(group, {})
    return {name: entry for name, entry in entries.items() if _is_there(entry)}


def _is_there(entry: Entry) -> bool:
    """Tell whether a feature's plug-in is installed: the core works without any of them."""
    names = entry.target.split(".")
    return names[1] != "plugins" or (_PLUGINS / names[2] / "__init__.py").is_file()


def names(group: Group) -> list[str]:
    """Return the names of all features, sorted, those of other packages included."""
    return sorted({*ours(group), *_others(group)})


def has(group: Group, name: str) -> bool:
    """Tell whether there is such a feature; other packages are asked last, which takes longer."""
    return name in ours(group) or name in _others(group)


def load(group: Group, name: str) -> Any:
    """Import a feature. Raises InputError, naming those that there are, for an unknown name, and
    for one of another package that cannot be imported."""
    if (entry := ours(group).get(name)) is not None:
        module, _, attribute = entry.target.partition(":")
        imported = import_module(module)
        return getattr(imported, attribute) if attribute else imported
    point = _others(group).get(name)
    if point is None:
        known = ", ".join(names(group))
        raise InputError(f"there is no {group.removesuffix('s')} {name!r}; there are {known}")
    try:
        return point.load()
    except Exception as error:  # whatever another package's code raises
        package = package_of(group, name)
        raise InputError(f"{name}, of the package {package}, cannot be loaded: {error}") from error


def package_of(group: Group, name: str) -> str:
    """Return the name of the other package that has the feature."""
    point = _others(group)[name]
    return point.dist.name if point.dist else point.value


def _others(group: Group) -> dict[str, EntryPoint]:
    return _installed(tuple(sys.path))[group]


@functools.lru_cache(maxsize=1)
def _installed(path: tuple[str, ...]) -> dict[Group, dict[str, EntryPoint]]:
    """Read the entry points of all packages on the path, which takes 30 ms for 250 packages."""
    points = entry_points()
    return {
        group: {point.name: point for point in points.select(group=f"reranker.{group}")}
        for group in get_args(Group)
    }
