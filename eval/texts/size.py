"""The size of texts, as Table 1 of Takase et al. (2018) and Table 4.1 of Daniluk (2016) have it:

    python eval/texts/size.py ptb.train.txt ptb.valid.txt ptb.test.txt

Tokens are words and line ends. Different ones are counted in the first file, the training text, and
a line end is one of them. Articles' marks are neither words nor lines.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import chain

from reranker.files.table import aligned
from reranker.process.flags import reporting_errors
from reranker.text.running import is_mark, read_running_text


@reporting_errors("size")
def main(argv: Sequence[str]) -> int:
    """Print the table; return 0, or 2 if files cannot be used."""
    if not argv or argv[0].startswith("-"):
        print(__doc__)
        return 0 if argv[:1] in (["-h"], ["--help"]) else 2
    rows = [("text", "lines", "words", "tokens", "different tokens")]
    for path in argv:
        lines = [line for line in read_running_text([path]) if not is_mark(line)]
        words = sum(map(len, lines))
        different = f"{len(set(chain.from_iterable(lines))) + 1:,}" if len(rows) == 1 else ""
        counts = (f"{len(lines):,}", f"{words:,}", f"{words + len(lines):,}", different)
        rows.append((path, *counts))
    print(aligned(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
