import copy
import hashlib
import pickle
import random
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch

from reranker.checkpoints.archive import read_archive, write_atomically
from reranker.checkpoints.checkpoint import load_checkpoint, save_checkpoint
from reranker.checkpoints.vocabulary import Vocabulary
from reranker.errors import CheckpointError
from reranker.models import AwdLstmDoc, Config
from tests.reranker.checkpoints.sealing import write_sealed

VOCABULARY = Vocabulary(["<eos>", "<unk>", "(<unk>", ")<unk>", "(S", ")S", "it", "runs"])
CONFIG = Config(
    vocabulary_size=len(VOCABULARY), embedding_size=4, hidden_sizes=(5, 6), components=(0, 1, 2)
)


@pytest.fixture
def model() -> AwdLstmDoc:
    return AwdLstmDoc(CONFIG)


@pytest.fixture
def path(tmp_path: Path, model: AwdLstmDoc) -> Path:
    """Write a sound checkpoint, in float32."""
    path = tmp_path / "sound.pt"
    save_checkpoint(path, model, VOCABULARY, {"dev_perplexity": 7.5}, torch.float32)
    return path


def test_float32_comes_back_exactly(path: Path, model: AwdLstmDoc) -> None:
    checkpoint = load_checkpoint(path)
    assert checkpoint.name == "sound.pt"
    assert checkpoint.vocabulary == VOCABULARY
    assert checkpoint.information == {"dev_perplexity": 7.5}
    assert checkpoint.model.config == CONFIG
    weights = dict(checkpoint.model.named_parameters())
    assert weights.keys() == dict(model.named_parameters()).keys()
    for name, weight in model.named_parameters():
        assert torch.equal(weights[name], weight)
    assert not checkpoint.model.training
    assert not any(weight.requires_grad for weight in weights.values())

    tokens = torch.tensor([[0], [4], [6]])
    own, _ = checkpoint.model(tokens, checkpoint.model.initial_state(1))
    theirs, _ = model.eval()(tokens, model.initial_state(1))
    assert torch.equal(own.components, theirs.components)


def test_float16_comes_back_rounded_as_float32(tmp_path: Path, model: AwdLstmDoc) -> None:
    path = tmp_path / "half.pt"
    save_checkpoint(path, model, VOCABULARY, {})
    weights = dict(load_checkpoint(path).model.named_parameters())
    for name, weight in model.named_parameters():
        assert weights[name].dtype == torch.float32
        assert torch.equal(weights[name], weight.half().float())  # 11 bits: 0.0005 of a value
        assert torch.allclose(weights[name], weight, rtol=5e-4, atol=1e-7)


CLASSED = Vocabulary(VOCABULARY.symbols, {"zebras": 3, "oak": 70_000}, backward=True)


def test_word_classes_and_direction_come_back(tmp_path: Path, model: AwdLstmDoc) -> None:
    path = tmp_path / "classed.pt"
    odd = {"caf\u00e9": 0, "\u00a0": 1, "\x85": 2, "broken \udcff": 3, "zebras": 2**31 - 1}
    for vocabulary in (CLASSED, Vocabulary(VOCABULARY.symbols, odd)):
        save_checkpoint(path, model, vocabulary, {})
        found = load_checkpoint(path).vocabulary
        assert found == vocabulary
        assert found.classes == vocabulary.classes
        assert found.backward == vocabulary.backward


def test_a_model_of_tags_says_so_and_no_other_does(tmp_path: Path, model: AwdLstmDoc) -> None:
    path = tmp_path / "tags.pt"
    of_tags = Vocabulary(VOCABULARY.symbols, reads_tags=True)
    for vocabulary in (of_tags, VOCABULARY):
        save_checkpoint(path, model, vocabulary, {})
        content = read_archive(path).content
        assert content["version"] == 4
        assert ("reads_tags" in content) == vocabulary.reads_tags
        found = load_checkpoint(path).vocabulary
        assert (found, found.reads_tags) == (vocabulary, vocabulary.reads_tags)
    assert of_tags != VOCABULARY and of_tags.digest != VOCABULARY.digest
    write_sealed(path, {**read_archive(path).content, "reads_tags": "yes"})
    with pytest.raises(CheckpointError, match=r"reads_tags .*'yes'"):
        load_checkpoint(path)


def test_the_hash_is_that_of_the_file(path: Path) -> None:
    assert load_checkpoint(path).sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_writing_leaves_one_whole_file(tmp_path: Path, model: AwdLstmDoc, path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    save_checkpoint(folder / "a.pt", model, VOCABULARY, {})
    assert [each.name for each in folder.iterdir()] == ["a.pt"]
    before = path.read_bytes()
    with pytest.raises((pickle.PicklingError, TypeError, AttributeError)):
        write_atomically(path, {"cannot be written": lambda: None})
    assert path.read_bytes() == before


def refusal(path: Path) -> str:
    """Return the one-line message after the file's name when the file is refused."""
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message.removeprefix(f"{path}: ")


def test_a_path_may_be_a_string_and_nothing_else(path: Path) -> None:
    assert load_checkpoint(str(path)).sha256 == load_checkpoint(path).sha256
    for wrong in (5, None, [path], b"sound.pt"):
        with pytest.raises(CheckpointError, match="path of a checkpoint"):
            load_checkpoint(wrong)  # type: ignore[arg-type]


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    assert "No such file" in refusal(tmp_path / "missing.pt")
    refusal(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"(S (NP (PRP It)) (VP (VBZ runs)))\n",
        b"\x1f\x8b\x08\x00",
        b"\x80\x02",
        b"PK\x03\x04",
        b"N.",
        b"\x80\x04K\x01.",
        bytes(range(256)) * 8,
        pickle.dumps({"format": "parse-reranker checkpoint", "version": 1}),
        pickle.dumps({"format": "parse-reranker checkpoint", "version": 1}, protocol=0),
    ],
)
def test_other_files_are_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "other.pt"
    path.write_bytes(content)
    assert "not a checkpoint" in refusal(path)


def test_a_zip_file_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "archive.pt"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("trees.txt", "(S (X y))")
    assert "not a checkpoint" in refusal(path)


@pytest.mark.parametrize("share", [0.02, 0.3, 0.6, 0.9, 0.999])
def test_a_truncated_checkpoint_is_refused(share: float, path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    refusal(path)


def test_a_checkpoint_with_broken_bytes_is_refused_or_loads(path: Path) -> None:
    content = path.read_bytes()
    generator = random.Random(1)
    for _ in range(60):
        broken = bytearray(content)
        for _ in range(20):
            broken[generator.randrange(len(broken))] = generator.randrange(256)
        path.write_bytes(broken)
        try:
            load_checkpoint(path)
        except CheckpointError as error:
            assert str(path) in str(error)


@pytest.mark.parametrize("content", [torch.ones(3), [1, 2], 7, "text", {}, {"format": "theirs"}])
def test_what_another_program_saved_is_refused(content: object, tmp_path: Path) -> None:
    path = tmp_path / "theirs.pt"
    torch.save(content, path)
    assert "rerank train" in refusal(path)


def test_a_whole_pickled_model_is_refused(tmp_path: Path, model: AwdLstmDoc) -> None:
    path = tmp_path / "pickled.pt"
    torch.save(model, path)
    assert "code" in refusal(path)


class Intruder:
    """An object that creates a file when it is unpickled carelessly."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> Any:
        return Path.touch, (self.marker,)


def test_code_in_a_pickle_is_not_run(tmp_path: Path) -> None:
    marker = tmp_path / "was-here"
    pickle.loads(pickle.dumps(Intruder(marker)))
    assert marker.exists(), "the intruder is real"
    marker.unlink()

    plain, zipped, nested = (tmp_path / name for name in ("plain.pt", "zipped.pt", "nested.pt"))
    plain.write_bytes(pickle.dumps(Intruder(marker)))
    torch.save(Intruder(marker), zipped)
    torch.save({"format": "parse-reranker checkpoint", "weights": Intruder(marker)}, nested)
    for path in (plain, zipped, nested):
        assert "code" in refusal(path)
        assert not marker.exists()


def with_weight(content: Any, name: str, weight: object) -> None:
    content["weights"][name] = weight


def numbered(content: Any, numbers: torch.Tensor) -> None:
    content["word_classes"]["numbers"] = numbers


ALTERATIONS = {
    "version 5": lambda c: c.update(version=5),
    "version 3": lambda c: c.update(version=3),
    "version is a tensor": lambda c: c.update(version=torch.ones(2)),
    "no version": lambda c: c.pop("version"),
    "architecture": lambda c: c.update(architecture="transformer"),
    "architecture is a list": lambda c: c.update(architecture=[]),
    "no config": lambda c: c.pop("config"),
    "config is a list": lambda c: c.update(config=[1, 2]),
    "unknown setting": lambda c: c["config"].update(heads=8),
    "setting of another kind": lambda c: c["config"].update(embedding_size="four"),
    "a rate of another kind": lambda c: c["config"].update(word_dropout="half"),
    "no layers": lambda c: c["config"].update(hidden_sizes=(), components=(3,)),
    "another size": lambda c: c["config"].update(embedding_size=5),
    "another mixture": lambda c: c["config"].update(components=(1, 1, 1)),
    "no vocabulary": lambda c: c.pop("vocabulary"),
    "short vocabulary": lambda c: c["vocabulary"].pop(),
    "doubled symbol": lambda c: c["vocabulary"].__setitem__(7, "it"),
    "empty symbol": lambda c: c["vocabulary"].__setitem__(7, ""),
    "symbol is a number": lambda c: c["vocabulary"].__setitem__(7, 7),
    "no label": lambda c: c["vocabulary"].__setitem__(slice(4, 6), ["(NP\x1b", ")NP\x1b"]),
    "no <eos>": lambda c: c["vocabulary"].__setitem__(0, "end"),
    "no weights": lambda c: c.pop("weights"),
    "weights are a list": lambda c: c.update(weights=[torch.ones(2)]),
    "a weight is missing": lambda c: c["weights"].pop("decoder_bias"),
    "a weight too many": lambda c: with_weight(c, "extra", torch.ones(1)),
    "a weight is a number": lambda c: with_weight(c, "decoder_bias", 1.0),
    "a weight of another shape": lambda c: with_weight(c, "decoder_bias", torch.ones(9)),
    "a sparse weight": lambda c: with_weight(c, "decoder_bias", torch.ones(8).to_sparse()),
    "NaN": lambda c: with_weight(c, "decoder_bias", torch.full((8,), float("nan"))),
    "infinity": lambda c: with_weight(c, "decoder_bias", torch.full((8,), float("inf"))),
    "information is a list": lambda c: c.update(information=[1]),
    "other rules of classes": lambda c: c.update(class_rules=1),
    "neutral rules without affixes": lambda c: c.update(class_rules=3),
    "rules of classes are a text": lambda c: c.update(class_rules="2"),
    "no rules of classes": lambda c: c.pop("class_rules"),
    "backward is a text": lambda c: c.update(backward="no"),
    "backward is a tensor": lambda c: c.update(backward=torch.ones(2)),
    "classes are a list": lambda c: c.update(word_classes=[1]),
    "classes are a number": lambda c: c.update(word_classes=0),
    "classes without numbers": lambda c: c["word_classes"].pop("numbers"),
    "classes without words": lambda c: c["word_classes"].pop("words"),
    "words are bytes": lambda c: c["word_classes"].update(words=b"zebras\nOak"),
    "words are a list": lambda c: c["word_classes"].update(words=["zebras", "oak"]),
    "words are a tensor": lambda c: c["word_classes"].update(words=torch.ones(2)),
    "a word too few": lambda c: c["word_classes"].update(words="zebras"),
    "a word too many": lambda c: c["word_classes"].update(words="zebras\noak\n"),
    "a word twice": lambda c: c["word_classes"].update(words="oak\noak"),
    "numbers are a list": lambda c: c["word_classes"].update(numbers=[3, 70_000]),
    "a negative number": lambda c: numbered(c, torch.tensor([3, -1], dtype=torch.int32)),
    "numbers with a fraction": lambda c: numbered(c, torch.tensor([3.5, 4.0])),
    "true and false": lambda c: numbered(c, torch.tensor([True, False])),
    "numbers in a table": lambda c: numbered(c, torch.ones(2, 1, dtype=torch.int32)),
    "one number": lambda c: numbered(c, torch.tensor(3, dtype=torch.int32)),
    "no numbers": lambda c: numbered(c, torch.zeros(0, dtype=torch.int32)),
    "sparse numbers": lambda c: numbered(c, torch.ones(2, dtype=torch.int32).to_sparse()),
}


@pytest.mark.parametrize("alter", ALTERATIONS.values(), ids=ALTERATIONS.keys())
def test_a_checkpoint_that_does_not_fit_together_is_refused(
    alter: Any, path: Path, model: AwdLstmDoc
) -> None:
    save_checkpoint(path, model, CLASSED, {}, torch.float32)
    content = read_archive(path).content
    load_checkpoint(path)
    alter(content)
    write_sealed(path, content)
    refusal(path)


@pytest.mark.parametrize("size", [10**5, 10**9, 10**30])
@pytest.mark.parametrize(
    "name", ["vocabulary_size", "embedding_size", "hidden_sizes", "components"]
)
def test_a_huge_size_is_refused_without_making_room_for_it(
    name: str, size: int, path: Path
) -> None:
    content = read_archive(path).content
    huge = {"hidden_sizes": (5, size), "components": (0, size, 1)}
    content["config"][name] = huge.get(name, size)
    write_sealed(path, content)
    refusal(path)


def test_a_small_file_that_claims_large_weights_is_refused(path: Path) -> None:
    content = read_archive(path).content
    size = 200_000_000
    content["config"].update(hidden_sizes=(5, size), components=(0, 1, 0))
    # A tensor that repeats one stored number: 3 TB if it were ever written out.
    for name in ("input_weight", "recurrent_weight", "bias"):
        shape = {"input_weight": (4 * size, 5), "recurrent_weight": (4 * size, size)}
        weight = torch.zeros(()).half().expand(shape.get(name, (4 * size,)))
        with_weight(content, f"layers.1.{name}", weight)
    for name in ("projections.2.weight", "projections.2.bias", "mixture_weights.weight"):
        del content["weights"][name]
    write_sealed(path, content)
    assert path.stat().st_size < 20_000
    assert "larger than the file" in refusal(path)


def test_a_small_file_that_claims_many_classes_is_refused(path: Path) -> None:
    content = read_archive(path).content
    many = torch.zeros(1, dtype=torch.int32).expand(10**12)
    content["word_classes"] = {"words": "oak", "numbers": many}
    write_sealed(path, content)
    assert "larger than the file" in refusal(path)
    content["word_classes"] = {"words": "\n" * 10_000_000, "numbers": many[:2]}
    write_sealed(path, content)
    refusal(path)


def test_more_classes_than_anybody_has_are_refused_at_once(path: Path) -> None:
    """Before anything is made of them: that takes little longer than reading the file."""
    content = read_archive(path).content
    numbers = torch.zeros(10_000_000, dtype=torch.int16)
    content["word_classes"] = {"words": "\n" * (len(numbers) - 1), "numbers": numbers}
    write_sealed(path, content)
    began = time.process_time()
    read_archive(path)
    read = time.process_time()
    assert "10000000 class numbers" in refusal(path)
    assert time.process_time() - read < 5 * (read - began)


def test_saving_does_not_change_the_model(tmp_path: Path, model: AwdLstmDoc) -> None:
    before = copy.deepcopy(model.state_dict())
    save_checkpoint(tmp_path / "a.pt", model, VOCABULARY, {})
    for name, weight in model.state_dict().items():
        assert torch.equal(weight, before[name])


def test_no_model_to_be_loaded_draws_weights() -> None:
    """Drawing them on the meta device imports torch's compiler, which takes longer than loading."""
    code = """if True:
        import sys, torch
        from reranker.models import ARCHITECTURES
        from reranker.models.piece_encoder import PieceConfig
        from reranker.models.span_model import SpanConfig, SpanModel
        from tests.models.settings import ONE_OF_EACH, SETTINGS, architecture
        with torch.device("meta"):
            for setting in ONE_OF_EACH:
                ARCHITECTURES[architecture(setting)][1](SETTINGS[setting])
            SpanModel(SpanConfig(9, 9, 9, encoder=PieceConfig(9)))
        print("torch._dynamo" in sys.modules)
    """
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("False\n", "")
