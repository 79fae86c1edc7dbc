"""ensemble.toml: written, read back, and refused where it does not fit."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from reranker.checkpoints.ensemble_file import (
    ModelNames,
    WeighedModels,
    named_models,
    read_ensemble_file,
    write_ensemble_file,
)
from reranker.errors import InputError
from reranker.ranking import Weighing
from reranker.ranking.confidence import Calibration

HASHES = tuple(hashlib.sha256(word).hexdigest() for word in (b"one", b"two"))
SHIPPED = Path(__file__).parents[3] / "ckpt"


@pytest.fixture
def paths(tmp_path: Path) -> tuple[Path, Path]:
    """Write two files that could be checkpoints: nothing but their bytes matters here."""
    folder = tmp_path / "models"
    folder.mkdir()
    one, two = folder / "one.pt", folder / 'two "quoted" é.pt'
    one.write_bytes(b"one")
    two.write_bytes(b"two")
    return one, two


def test_what_is_written(tmp_path: Path, paths: tuple[Path, Path]) -> None:
    path = tmp_path / "ensemble.toml"
    weighing = Weighing(0.465, "perplexity", (0.5, 1.5), -0.25)
    write_ensemble_file(path, WeighedModels(paths, weighing), ["F1 86.38"])
    one, two = HASHES
    assert path.read_text() == (
        "# F1 86.38\n"
        "version = 2\n"
        'criterion = "perplexity"\n'
        "lm_weight = 0.465\n"
        "token_bonus = -0.25\n"
        "\n"
        "[[members]]\n"
        'file = "models/one.pt"\n'
        f'sha256 = "{one}"\n'
        "weight = 0.5\n"
        "\n"
        "[[members]]\n"
        'file = "models/two \\"quoted\\" é.pt"\n'
        f'sha256 = "{two}"\n'
        "weight = 1.5\n"
    )
    assert read_ensemble_file(path) == WeighedModels(paths, weighing, sha256=HASHES)


def test_it_moves_with_its_checkpoints(
    tmp_path: Path, paths: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Written into and read from other folders, by relative names: those in the file stay right.
    monkeypatch.chdir(tmp_path)
    relative = tuple(path.relative_to(tmp_path) for path in paths)
    write_ensemble_file(Path("models/e.toml"), WeighedModels(relative, Weighing(0.5)))
    (tmp_path / "models").rename(tmp_path / "moved")
    monkeypatch.chdir(tmp_path / "moved")
    assert read_ensemble_file(Path("e.toml")).paths == (Path("one.pt"), Path(paths[1].name))


def test_confidence_is_written_and_read(tmp_path: Path, paths: tuple[Path, Path]) -> None:
    path, weighing = tmp_path / "ensemble.toml", Weighing(0.465)
    models = WeighedModels(paths, weighing, Calibration(weighing, -0.25, (0.5, 1e-05)), HASHES)
    write_ensemble_file(path, models)
    assert path.read_text().endswith(
        "weight = 1.0\n\n[confidence]\nintercept = -0.25\nmodels = 0.5\nparser = 1e-05\n"
    )
    assert read_ensemble_file(path) == named_models(path) == models


def test_confidence_and_shortlist_beside_checkpoints(
    tmp_path: Path, paths: tuple[Path, Path]
) -> None:
    one, two = paths
    beside = one.parent / "confidence.toml"
    known = Calibration(Weighing(0.5, shortlist=3.0), -0.25, (0.5, 1.0))
    plain = WeighedModels(paths, Weighing())
    assert named_models(paths) == plain
    write_ensemble_file(beside, WeighedModels(paths, Weighing(0.5, shortlist=3.0), known))
    # The files that are loaded have to be those that the calibration was made for.
    assert named_models(paths) == WeighedModels(paths, Weighing(shortlist=3.0), known, HASHES)
    assert named_models(paths[::-1]).calibration == known
    assert named_models(paths, "average") == plain
    weighed = Weighing(0.5, member_weights=(1.0, 0.4), shortlist=3.0)
    known = replace(known, weighing=weighed)
    write_ensemble_file(beside, WeighedModels(paths, weighed, known))
    weighing = replace(weighed, lm_weight=1.0)
    assert named_models(paths) == WeighedModels(paths, weighing, known, HASHES)
    other = named_models(paths[::-1])
    assert other.weighing.member_weights == (0.4, 1.0)
    assert other.calibration and other.calibration.weighing.member_weights == (0.4, 1.0)
    renamed = one.rename(one.with_name("first.pt"))
    assert named_models([renamed, two]).calibration == known
    renamed.rename(one)
    # Of other models nothing is known: one of the two, one twice, one retrained.
    for others in ([one], [one, one]):
        assert named_models(others).calibration is None
    two.write_bytes(b"3")
    assert named_models(paths) == plain
    beside.write_text("confidence?")
    with pytest.raises(InputError, match=r"confidence\.toml: not an ensemble file"):
        named_models(paths)


def test_the_shipped_confidence_is_that_of_the_shipped_checkpoints() -> None:
    shipped = named_models(SHIPPED)
    assert shipped.calibration is not None
    assert shipped.calibration.weighing == shipped.weighing


def test_weights_of_one_are_none(tmp_path: Path, paths: tuple[Path, Path]) -> None:
    path = tmp_path / "e.toml"
    write_ensemble_file(path, WeighedModels(paths, Weighing(0.5)))
    assert path.read_text().count("weight = 1.0\n") == 2
    assert read_ensemble_file(path).weighing == Weighing(0.5)


def test_other_checkpoints_are_refused(tmp_path: Path, paths: tuple[Path, Path]) -> None:
    path = tmp_path / "e.toml"
    write_ensemble_file(path, WeighedModels(paths, Weighing(0.5)))
    paths[1].write_bytes(b"retrained")
    with pytest.raises(InputError, match=r"two.*e\.toml"):
        read_ensemble_file(path)
    paths[1].unlink()
    with pytest.raises(InputError, match=r"two.*: cannot be read: No such file"):
        read_ensemble_file(path)


HEAD = 'version = 2\ncriterion = "perplexity"\nlm_weight = 0.5\ntoken_bonus = 0\n'
MEMBER = '[[members]]\nfile = "x.pt"\nsha256 = "0"\nweight = 1\n'
CONFIDENCE = "[confidence]\nintercept = 0.5\nmodels = 1\nparser = 2\n"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("lm_weight = ", "not an ensemble file: Invalid value"),
        (b"\xff", "not an ensemble file"),
        (HEAD.replace("= 2", "= 4") + MEMBER, "version 4, this program reads 2"),
        (HEAD.replace("= 2", "= true") + MEMBER, "version True, this program reads"),
        (HEAD, r"there are no \[\[members\]\]"),
        ("members = [3]\n" + HEAD, "3 is not a table"),
        (HEAD.replace("0.5", '"much"') + MEMBER, "lm_weight is 'much'"),
        (HEAD.replace("lm_weight = 0.5\n", "") + MEMBER, "lm_weight is missing"),
        (HEAD.replace("0.5", "1.5") + MEMBER, "lm_weight 1.5 is not between 0 and 1"),
        (HEAD.replace("= 0\n", "= nan\n") + MEMBER, "token_bonus nan is not finite"),
        (HEAD.replace('"perplexity"', '"beauty"') + MEMBER, "no criterion 'beauty'"),
        ("colour = 1\n" + HEAD + MEMBER, "unknown key colour"),
        (HEAD + MEMBER.replace("= 1", "= -1"), "must all be >= 0"),
        (HEAD + MEMBER.replace("= 1", "= 0"), "all 0"),
        (HEAD + MEMBER.replace("= 1", "= true"), "weight is True"),
        (HEAD + MEMBER + CONFIDENCE.replace("parser", "mood"), "unknown key mood"),
        (HEAD + MEMBER + CONFIDENCE.replace("parser = 2\n", ""), "parser is missing"),
        (HEAD + MEMBER + CONFIDENCE.replace("0.5", "inf"), "a coefficient is inf"),
        (HEAD + "confidence = 3\n" + MEMBER, "3 is not a table"),
        (HEAD + MEMBER + CONFIDENCE, "x.pt: cannot be read"),
        (HEAD + MEMBER + "[cascade]\nmargins = [1.0]", "unknown key cascade"),
        (HEAD.replace("= 2", "= 1") + MEMBER, "version 1, this program reads 2"),
    ],
)
def test_what_is_no_ensemble(tmp_path: Path, content: str | bytes, reason: str) -> None:
    path = tmp_path / "e.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=f"{path.parent}.*{reason}"):
        read_ensemble_file(path)


def test_names_of_models(tmp_path: Path, paths: tuple[Path, Path]) -> None:
    path = tmp_path / "e.toml"
    write_ensemble_file(path, WeighedModels(paths, Weighing(0.5)))
    assert named_models([str(paths[0])]) == WeighedModels(paths[:1], Weighing())
    assert named_models([str(tmp_path / "*.toml")]) == WeighedModels(
        paths, Weighing(0.5), sha256=HASHES
    )
    with pytest.raises(InputError, match="name it alone"):
        named_models([str(paths[0]), str(path)])
    with pytest.raises(InputError, match="was tuned for the sum"):
        named_models([str(path)], "average")
    with pytest.raises(InputError, match="no such file"):
        named_models([str(tmp_path / "missing.toml")])


def test_one_name_or_several_of_any_kind(
    tmp_path: Path, paths: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = paths
    folder = one.parent
    (folder / "README.md").write_text("not a checkpoint")
    write_ensemble_file(tmp_path / "e.toml", WeighedModels(paths, Weighing(0.5)))
    ensemble = tmp_path / "e.toml"
    names_of_one: list[ModelNames] = [str(one), one, [one], iter([one]), folder / "on*.pt"]
    for names in names_of_one:
        assert named_models(names) == WeighedModels((one,), Weighing())
    names_of_two: list[ModelNames] = [
        folder,
        f"{folder}/",
        [folder],
        f"{folder}/*.pt",
        [one, str(two)],
    ]
    for names in names_of_two:
        assert named_models(names) == WeighedModels((one, two), Weighing())
    for name in (str(ensemble), ensemble):
        tuned = WeighedModels(paths, Weighing(0.5), sha256=HASHES)
        assert named_models(name) == named_models([name]) == tuned
    monkeypatch.chdir(tmp_path)
    assert named_models("models/").paths == tuple(path.relative_to(tmp_path) for path in paths)


def test_what_names_no_models(tmp_path: Path) -> None:
    for names, reason in ((5, "5"), ([None], "None"), (b"a.pt", "b'a.pt'")):
        with pytest.raises(InputError, match=f"expected the path of a model, got {reason}"):
            named_models(names)  # type: ignore[arg-type]
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="empty: "):
        named_models(tmp_path / "empty")
