from pathlib import Path

import pytest

from reranker.errors import InputError
from reranker.files.patterns import expanded
from tests.reranker.small_files import write


def test_patterns_in_the_order_of_names(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    a, b, odd = (write(tmp_path / name, "") for name in ("d/b", "a", "[b]"))
    assert expanded(["-", "none", f"{tmp_path}/?", f"{tmp_path}/**/b"]) == [
        "-", "none", b, str(tmp_path / "d"), a,
    ]  # fmt: skip
    assert expanded([tmp_path / "[b]"]) == [odd]  # a file, whatever it looks like
    with pytest.raises(InputError, match=r"c\*: no file matches"):
        expanded([f"{tmp_path}/c*"])
