"""Features by name: the core's in one table, a plug-in's in the ``FEATURES`` of its folder, other
packages' through entry points.

Text alone, so ``rerank --help`` imports no feature. Packages add theirs in ``pyproject.toml``::

    [project.entry-points."reranker.commands"]
    depth = "my_package.depth"

    [project.entry-points."reranker.parsers"]
    mine = "my_package.parser:MyParser"

    [project.entry-points."reranker.outputs"]
    bare = "my_package.bare:Bare"

    [project.entry-points."reranker.dialects"]
    mine = "my_package.lists:MINE"

Architectures of language models have the group ``reranker.models`` (models/__init__.py).
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
    "functions",
    "dialects",
]
"""``commands``: modules with ``add_arguments(parser)``, ``run(arguments)``, which returns the exit
status, and perhaps ``EXAMPLES``, the end of ``--help``, ``GROUPS`` of flags with a ``USAGE``
(reranker.commands.help), and ``LESS_MEMORY``, advice to a user; a RerankError is exit status 2.
``parsers``: a ``Factory`` (reranker.parsers.parser). ``outputs``: subclasses of ``Output``
(reranker.outputs.output), made without arguments.
``trainings``: modules of `rerank train` by architecture, ``language-model`` for all others, with
``CONFIG``, ``TAKES`` (flags) and ``new_run(settings, config, processes)``. ``servers``: functions
that serve as `rerank serve` does, outside its own process, from its settings and an address or
None to the exit status. ``treebanks``: readers of treebanks without brackets, functions from the
name of a file, its lines and a function for warnings to ``TreePiece``s (reranker.trees.treebank),
by the ``treebank`` of a ``Kind`` (reranker.files.kinds). ``tree-files``: modules that write such,
with ``write(tree, position)``, and ``START`` and ``END`` of a file. ``functions``: functions of the
package ``reranker``, such as ``reranker.measure``. ``dialects``: formats of n-best lists of other
packages, each a ``Dialect`` (reranker.nbest.dialects.registry)."""


class Entry(NamedTuple):
    """A feature of this repository."""

    target: str
    """A module, or module:attribute, without the package's name in front: of the core below
    ``reranker``, of a plug-in below its folder."""
    help: str = ""
    """The line of `rerank --help`."""
    place: int = 99
    """The place among the commands of `rerank --help`, the most used first."""


Features = dict[Group, dict[str, Entry]]

CORE: Features = {  # the features of the core alone
    "commands": {
        "parse": Entry("commands.parse", "parse a text: write the best tree of each sentence", 1),
        "serve": Entry(
            "commands.serve", "start a server, with a web page and an HTTP interface", 8
        ),
        "models": Entry("commands.models", "list the installed models", 9),
        "eval": Entry("commands.evaluate", "score trees against gold trees, as EVALB does", 10),
        "validate": Entry(
            "commands.validate", "tell what an n-best file contains and what is wrong with it", 13
        ),
        "convert": Entry(
            "commands.convert", ("convert n-best lists and treebanks to another format"), 14
        ),
        "completion": Entry(
            "commands.completion", "print a script for tab completion in bash, zsh or fish", 30
        ),
    },
    "parsers": {
        "chart": Entry("parsers.chart:ChartParser"),
        "command": Entry("parsers.command:CommandParser"),
    },
    "outputs": {  # as the help of `--output` lists them
        "best": Entry("outputs.output:Best", "the best tree"),
        "pretty": Entry("outputs.penn:Pretty", "the same over several lines"),
        "conllu": Entry("outputs.conllu:CoNLLU", "the same in CoNLL-U"),
        "json": Entry("outputs.spans:Json", "its words and brackets in JSON"),
        "brackets": Entry("outputs.brackets:Brackets", "a table of its brackets"),
        "ranked": Entry("outputs.output:AllCandidates", "all candidates, in JSON"),
    },
}


@functools.cache
def _plugins() -> Features:
    """Return the features of the folders in ``plugins/``, each of which names its own in
    ``FEATURES``."""
    features: Features = {}
    folders = sorted(Path(__file__).with_name("plugins").glob("*/__init__.py"))
    for name in (folder.parent.name for folder in folders):
        package = f"plugins.{name}"
        for group, entries in import_module(f"reranker.{package}").FEATURES.items():
            for feature, entry in entries.items():
                placed = entry._replace(target=f"{package}.{entry.target}")
                features.setdefault(group, {})[feature] = placed
    return features


def built_in(group: Group) -> dict[str, Entry]:
    """Return the built-in features by name; skip plug-ins whose folder was deleted."""
    entries = {**CORE.get(group, {}), **_plugins().get(group, {})}
    return dict(sorted(entries.items(), key=lambda item: item[1].place))


def names(group: Group) -> list[str]:
    """Return the names of all features, sorted, those of other packages included."""
    return sorted({*built_in(group), *_others(group)})


def has(group: Group, name: str) -> bool:
    """Tell whether there is such a feature; other packages are asked last, which takes longer."""
    return _entry(group, name) is not None or name in _others(group)


def load(group: Group, name: str) -> Any:
    """Import a feature. Raises InputError for an unknown name, with the known ones, and for a
    feature of another package that cannot be imported."""
    if (entry := _entry(group, name)) is not None:
        module, _, attribute = entry.target.partition(":")
        imported = import_module(f"reranker.{module}")
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


def _entry(group: Group, name: str) -> Entry | None:
    """Return a built-in feature; those of the core are found without looking at plug-ins."""
    return CORE.get(group, {}).get(name) or _plugins().get(group, {}).get(name)


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
