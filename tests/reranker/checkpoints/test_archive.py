"""Hostile and damaged files are refused before they take memory."""

import json
import random
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from reranker.checkpoints.archive import read_archive, write_atomically
from reranker.checkpoints.checkpoint import load_checkpoint, save_checkpoint
from reranker.checkpoints.model_file import content_sha256
from reranker.errors import CheckpointError
from tests.reranker.checkpoints.bombs import BOMBS
from tests.reranker.checkpoints.sealing import write_sealed
from tests.reranker.ensembles import untrained

ROOT = Path(__file__).parents[3]
SHIPPED = ROOT / "ckpt" / "doc" / "doc-1.pt"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Write a checkpoint with a hash."""
    member = untrained(1)
    path = tmp_path / "sound.pt"
    save_checkpoint(path, member.model, member.vocabulary, {"dev_perplexity": 7.5}, torch.float32)
    return path


def test_no_file_takes_much_more_than_its_size(tmp_path: Path) -> None:
    """Neither memory nor time; and a sound one is loaded."""
    paths = []
    for name, (write, _) in BOMBS.items():
        paths.append(tmp_path / f"{name}.pt")
        write(paths[-1])
        assert paths[-1].stat().st_size < 6_000_000
    done = subprocess.run(
        [sys.executable, "-m", "tests.reranker.checkpoints.peak_memory", SHIPPED, *paths],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    sound, *bombs = map(json.loads, done.stdout.splitlines())
    assert sound[0] == "loaded"
    for path, (_, reason), (message, megabytes, seconds) in zip(
        paths, BOMBS.values(), bombs, strict=True
    ):
        assert message.startswith(f"{path}: ") and f"({reason}" in message
        assert megabytes < 60 and seconds < 10 * sound[2], (path.name, megabytes, seconds)


def test_every_flipped_byte_of_a_weight_is_found(path: Path) -> None:
    generator = random.Random(1)
    load_checkpoint(path)
    whole = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        entries = [entry for entry in archive.infolist() if "/data/" in entry.filename]
        records = [archive.read(entry) for entry in entries]
    for entry, record in zip(entries, records, strict=True):
        flipped = bytearray(whole)
        at = whole.index(record, entry.header_offset) + generator.randrange(len(record))
        flipped[at] ^= 1 << generator.randrange(8)
        path.write_bytes(flipped)
        with pytest.raises(CheckpointError) as caught:
            load_checkpoint(path)
        reason = f"a damaged checkpoint (Bad CRC-32 for file '{entry.filename}')"
        assert str(caught.value) == f"{path}: {reason}"


def nudge(content: Any) -> None:
    weight = content["weights"]["decoder_bias"]
    weight.view(torch.uint8)[0] ^= 1


CHANGES: dict[str, Callable[[Any], object]] = {
    "one bit of a weight": nudge,
    "a weight's precision": lambda c: c["weights"].update(
        decoder_bias=c["weights"]["decoder_bias"].double()
    ),
    "a symbol": lambda c: c["vocabulary"].__setitem__(c["vocabulary"].index("(FRAG"), "(CHANGED"),
    "the direction": lambda c: c.update(backward=True),
    "a setting": lambda c: c["config"].update(word_dropout=0.25),
    "the card": lambda c: c["information"].update(dev_perplexity=1.0),
    "something more": lambda c: c.update(more=1),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_what_was_changed_since_it_was_saved_is_refused(
    change: Callable[[Any], object], path: Path
) -> None:
    """Written again by torch.save, so that the file's own check sums are right."""
    content = read_archive(path).content
    before = content["sha256"]
    change(content)
    after = content_sha256({name: part for name, part in content.items() if name != "sha256"})
    assert after != before
    write_atomically(path, content)
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(path)
    assert f"its content has SHA-256 {after}, but was saved with {before}" in str(caught.value)
    write_sealed(path, content)
    load_checkpoint(path)
    del content["sha256"]
    write_atomically(path, content)
    with pytest.raises(CheckpointError, match="the hash of its content is missing"):
        load_checkpoint(path)


def test_the_hash_is_of_the_content_not_of_how_it_is_written() -> None:
    table = torch.arange(6).reshape(2, 3)
    content = {"a": table, "b": (1, 2.5, None), "c": {"x": True, "y": "é"}}
    turned = {**content, "a": table.reshape(3, 2)}
    other = {"c": {"y": "é", "x": True}, "b": [1, 2.5, None], "a": table.clone()}
    strided = {**content, "a": table.T.contiguous().T}
    assert content_sha256(content) == content_sha256(other) == content_sha256(strided)
    assert content_sha256(turned) != content_sha256(content)
    with pytest.raises(TypeError, match="a bytes in a checkpoint"):
        content_sha256({"a": b"a"})


def test_the_hash_makes_no_room_for_repeated_numbers() -> None:
    for huge in ({"a": torch.zeros(1).expand(10**12)}, {"a": [["x" * 1000] * 1000] * 1000}):
        with pytest.raises(ValueError, match="larger than the file"):
            content_sha256(huge, 100_000)


def test_every_shipped_checkpoint_has_a_hash() -> None:
    shipped = sorted(ROOT.glob("ckpt/**/*.pt"))
    assert len(shipped) == 13
    for file in shipped:
        assert len(read_archive(file).content["sha256"]) == 64, file


def test_what_torch_reads_is_what_we_read(path: Path) -> None:
    for file in (path, *sorted(ROOT.glob("ckpt/*.pt"))):
        theirs, own = torch.load(file, weights_only=True), read_archive(file).content
        assert theirs.keys() == own.keys()
        for name in theirs.keys() - {"weights", "word_classes"}:
            assert theirs[name] == own[name]
        for name, weight in theirs["weights"].items():
            assert torch.equal(weight, own["weights"][name])
            assert weight.dtype == own["weights"][name].dtype


def test_another_file_than_the_expected_one_is_not_read(path: Path) -> None:
    expected = load_checkpoint(path).sha256
    assert load_checkpoint(path, sha256=expected).sha256 == expected
    path.write_bytes(SHIPPED.read_bytes())
    found = load_checkpoint(path).sha256
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(path, sha256=expected)
    assert str(caught.value) == f"{path}: its SHA-256 is {found}, not {expected}"
