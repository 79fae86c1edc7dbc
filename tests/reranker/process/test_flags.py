"""The frame of scripts."""

from __future__ import annotations

import pytest

from reranker.errors import InputError
from reranker.process.flags import reporting_errors


@reporting_errors("script.py")
def main(error: Exception | None = None, code: int = 0) -> int:
    if error:
        raise error
    return code


def test_errors_in_the_input_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(InputError("a.txt: no such file")) == 2
    assert main(error=OSError("disk full")) == 2
    assert capsys.readouterr().err == "script.py: a.txt: no such file\nscript.py: disk full\n"
    assert (main(), main(None, 1)) == (0, 1)
    with pytest.raises(ValueError, match="ours"):
        main(ValueError("ours"))
