"""--sha256: which checkpoints may be loaded."""

import hashlib
from pathlib import Path

import pytest

from reranker.checkpoints.ensemble_file import named_models, pinned, write_ensemble_file
from reranker.errors import InputError
from reranker.pipeline import Reranker

ONE, TWO = (hashlib.sha256(word).hexdigest() for word in (b"one", b"two"))


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    """Write checkpoints; only their bytes matter here."""
    one, two = tmp_path / "one.pt", tmp_path / "two.pt"
    one.write_bytes(b"one")
    two.write_bytes(b"two")
    return [one, two]


def test_any_order_and_eight_digits_or_more(paths: list[Path]) -> None:
    for pins in ([ONE, TWO], [TWO, ONE], [TWO[:8], ONE[:63]], [ONE.upper(), TWO[:8].upper()]):
        assert pinned(paths, pins) == (ONE, TWO)
    assert pinned(paths[:1] * 2, [ONE[:8], ONE]) == (ONE, ONE)


def test_other_files_are_named_with_their_hash(paths: list[Path]) -> None:
    one, two = paths
    cases = {
        (ONE,): f"{two}: its SHA-256 is {TWO}, not one of those given, all used up",
        (ONE[:8], ONE[:9]): f"{two}: its SHA-256 is {TWO}, not one of {ONE[:8]}",
        (TWO[:8], "0" * 8): f"{one}: its SHA-256 is {ONE}, not one of {TWO[:8]}, 00000000",
        (ONE, TWO, TWO[:8]): f"no checkpoint has SHA-256 {TWO[:8]}: "
        f"{one} has {ONE}, {two} has {TWO}",
    }
    for pins, message in cases.items():
        with pytest.raises(InputError) as caught:
            pinned(paths, pins)
        assert str(caught.value) == message


@pytest.mark.parametrize("pin", ["", "1234567", "g" * 8, ONE + "0", "sha256:" + ONE, 12345678])
def test_what_is_no_hash(pin: str, paths: list[Path]) -> None:
    with pytest.raises(InputError, match="SHA-256"):
        named_models(paths, pins=[pin])


def test_an_ensemble_file_is_pinned_as_well(tmp_path: Path, paths: list[Path]) -> None:
    write_ensemble_file(tmp_path / "e.toml", named_models(paths))
    assert named_models(paths).sha256 == ()
    assert named_models(tmp_path / "e.toml").sha256 == (ONE, TWO)
    assert named_models(tmp_path / "e.toml", pins=[TWO[:8], ONE]).sha256 == (ONE, TWO)
    with pytest.raises(InputError, match=r"two\.pt: its SHA-256 is"):
        named_models(tmp_path / "e.toml", pins=[ONE])


def test_nothing_else_is_loaded(models: list[str]) -> None:
    hashes = [member.sha256 for member in Reranker.load(models).members]
    loaded = Reranker.load(models, sha256=[digest[:8] for digest in reversed(hashes)])
    assert [member.sha256 for member in loaded.members] == hashes
    assert len(Reranker.load(models[0], sha256=hashes[0]).members) == 1
    with pytest.raises(InputError, match=f"its SHA-256 is {hashes[1]}"):
        Reranker.load(models, sha256=hashes[:1])


def test_hashes_that_are_known_are_not_computed_again(tmp_path: Path) -> None:
    missing = [tmp_path / "no.pt"]
    assert pinned(missing, [ONE[:8]], ONE) == (ONE,)
    with pytest.raises(InputError, match=f"no.pt: its SHA-256 is {TWO}, not one of {ONE}"):
        pinned(missing, [ONE], TWO)
