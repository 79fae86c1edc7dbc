"""The settings of a ``.prm`` file: the labels and words that EVALB ignores or equates."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from reranker.errors import ConfigError, InputError
from reranker.files.opening import read_text

# The line's first word is the setting, everything after it the value.
_SETTING = re.compile(r"(\S+)\s*(.*)", re.ASCII)
_NAMES = {
    "DEBUG": "debug",
    "MAX_ERROR": "max_error",
    "CUTOFF_LEN": "cutoff_length",
    "LABELED": "labeled",
    "DELETE_LABEL": "delete_labels",
    "DELETE_LABEL_FOR_LENGTH": "delete_labels_for_length",
    "QUOTE_LABEL": "quote_labels",
    "EQ_LABEL": "equal_labels",
    "EQ_WORD": "equal_words",
}


@dataclass(frozen=True)
class Parameters:
    """The settings of one evaluation; by default, EVALB's without a file."""

    debug: int = 0
    max_error: int = 10
    cutoff_length: int = 40
    labeled: bool = True
    delete_labels: frozenset[str] = frozenset()
    delete_labels_for_length: frozenset[str] = frozenset()
    quote_labels: frozenset[str] = frozenset()
    equal_labels: tuple[tuple[str, str], ...] = ()
    equal_words: tuple[tuple[str, str], ...] = ()
    count_roots: bool = False
    """Count roots labelled S1, TOP, ROOT or with nothing like other brackets, as EVALB does unless
    their label is deleted; parsers and treebanks do not agree on the label."""

    @classmethod
    def collins(cls) -> Parameters:
        """Return the settings of COLLINS.prm (``eval/collins.prm``), which published F1 figures
        use."""
        return cls(
            delete_labels=frozenset({"TOP", "-NONE-", ",", ":", "``", "''", "."}),
            delete_labels_for_length=frozenset({"-NONE-"}),
            equal_labels=(("ADVP", "PRT"),),
        )

    @classmethod
    def from_file(cls, path: str | Path) -> Parameters:
        """Read a ``.prm`` file; a setting missing from it keeps EVALB's own default.

        Raises InputError when the file cannot be read and ConfigError, naming file, line and
        value, for an unknown setting or an invalid value (EVALB itself ignores both).
        """
        try:
            text = read_text(path, "utf-8-sig")
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise InputError(f"{path}: not UTF-8 text: {error.reason}") from error
        settings: dict[str, Any] = {}
        for number, line in enumerate(text.split("\n"), 1):
            match = _SETTING.match(line.strip())
            if match is None or match[1].startswith("#"):
                continue
            setting, values, where = match[1], match[2].split(), f"{path}:{number}"
            if setting not in _NAMES:
                raise ConfigError(f"{where}: unknown setting {setting!r}")
            name = _NAMES[setting]
            expected = 2 if name in ("equal_labels", "equal_words") else 1
            if len(values) != expected:
                given = " ".join(values)
                raise ConfigError(f"{where}: {setting} takes {expected} value(s), not {given!r}")
            before = getattr(cls, name)
            if isinstance(before, frozenset):
                settings[name] = settings.get(name, before) | set(values)
            elif isinstance(before, tuple):
                settings[name] = (*settings.get(name, before), tuple(values))
            elif re.fullmatch("[01]" if setting == "LABELED" else "[0-9]{1,9}", values[0]):
                settings[name] = type(before)(int(values[0]))
            else:
                raise ConfigError(f"{where}: {setting} cannot be {values[0]!r}")
        return cls(**settings)

    def bracket_label(self, label: str) -> str | None:
        """Return the label that a constituent counts as; None if its bracket does not count.

        >>> Parameters.collins().bracket_label("ADVP-TMP=2")
        'ADVP'
        """
        cut = label.partition("-")[0].partition("=")[0]
        standard = self.standard_labels.get(cut, cut)
        if standard in self._deleted_standard_labels:
            return None
        return standard if self.labeled else ""

    @cached_property
    def standard_labels(self) -> dict[str, str]:
        """Map every label of an EQ_LABEL line to the label that stands for its class."""
        return _classes(self.equal_labels)

    @cached_property
    def standard_words(self) -> dict[str, str]:
        """Map every word of an EQ_WORD line to the word that stands for its class."""
        return _classes(self.equal_words)

    @cached_property
    def _deleted_standard_labels(self) -> frozenset[str]:
        # EVALB lets EQ_LABEL widen DELETE_LABEL for constituents, but never for tags.
        return frozenset(self.standard_labels.get(label, label) for label in self.delete_labels)


def _classes(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Map each member of a pair to the first member of the class that the pairs form."""
    standard: dict[str, str] = {}
    for first, second in pairs:
        kept = standard.setdefault(first, first)
        replaced = standard.setdefault(second, second)
        for member, name in standard.items():
            if name == replaced:
                standard[member] = kept
    return standard
