"""The log on a terminal."""

from __future__ import annotations

import subprocess
import sys

CODE = r"""if True:
    import logging
    from reranker.service.logs import configure
    from reranker.service.settings import Settings
    configure(Settings())
    logging.getLogger("other").warning("a\x1b]0;X\x07\x9b b")
"""


def test_no_event_controls_the_terminal() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True)
    assert r"a\x1b]0;X\x07\x9b b" in done.stderr, done.stderr
