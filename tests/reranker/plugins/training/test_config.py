import re
from pathlib import Path

import pytest
import torch

from reranker.errors import ConfigError
from reranker.models import ARCHITECTURES
from reranker.models.span_model import SpanModel
from reranker.plugins.training.language_models.config import TrainingConfig
from reranker.plugins.training.loop import config as run_config
from reranker.plugins.training.loop.config import config_path
from reranker.plugins.training.spans.config import SpanTrainingConfig

CONFIGS = Path(__file__).parents[4] / "models/configs"


def test_configurations_have_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the package, from any folder; a file of that name comes first."""
    monkeypatch.chdir(tmp_path)
    installed = Path(run_config.__file__).parents[3] / "models" / "configs"
    assert config_path(Path("small")) == installed / "small.toml"
    assert config_path(Path("encoder-decoder/parser")).is_file()
    for file in CONFIGS.rglob("*.toml"):
        assert config_path(file.relative_to(CONFIGS).with_suffix("")).samefile(file)
    for path in ("small.toml", str(CONFIGS / "small.toml")):
        assert config_path(Path(path)) == Path(path)
    Path("small").mkdir()
    assert config_path(Path("small")) == installed / "small.toml"
    Path("mine").write_text("")
    assert config_path(Path("mine")) == Path("mine")
    for wrong in ("smal", "../configs/small", "../../../pyproject"):
        with pytest.raises(
            ConfigError, match=f"no configuration '{wrong}'; there are choe.*, small,"
        ):
            config_path(Path(wrong))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.toml"


def refusal(path: Path, text: str) -> str:
    """Return the ConfigError's message for this file, after the file's name."""
    path.write_text(text, "utf-8")
    with pytest.raises(ConfigError) as caught:
        TrainingConfig.from_file(path)
    file, _, reason = str(caught.value).partition(": ")
    assert file == str(path)
    return reason


def test_settings_given_and_settings_left_out(path: Path) -> None:
    path.write_text(
        '[training]\nepochs = 2\nlearning_rate = 1\nprecision = "bfloat16"\n'
        "[model]\nhidden_sizes = [6, 4]\ncomponents = [0, 1, 2]\ntied = false\n"
    )
    config = TrainingConfig.from_file(path)
    assert (config.epochs, config.learning_rate, config.precision) == (2, 1, "bfloat16")
    assert (config.recipe, config.seed, config.clip) == ("fast", 1, 1.0)
    model = config.model_config(vocabulary_size=7)
    assert (model.vocabulary_size, model.hidden_sizes, model.tied) == (7, (6, 4), False)
    assert (model.components, model.embedding_size) == ((0, 1, 2), 280)


def test_overrides_win_unless_none(path: Path) -> None:
    path.write_text("[training]\nepochs = 2\nseed = 5\n")
    config = TrainingConfig.from_file(path, seed=9, epochs=None, budget_minutes=30.0)
    assert (config.seed, config.epochs, config.budget_minutes) == (9, 2, 30)
    assert TrainingConfig.from_file(path, seed=0).seed == 0


def test_overrides_are_checked_too(path: Path) -> None:
    path.write_text("[training]\nepochs = 2\n")
    with pytest.raises(ConfigError, match=r"run\.toml: epochs must be .*, got -1"):
        TrainingConfig.from_file(path, epochs=-1.0)
    with pytest.raises(ConfigError, match=r"run\.toml: unknown setting 'speed'"):
        TrainingConfig.from_file(path, speed=1)


_SPAN_MODELS = {*CONFIGS.glob("spans*"), *CONFIGS.glob("parser*")}
LANGUAGE_MODELS = sorted({*CONFIGS.glob("*.toml")} - _SPAN_MODELS)


@pytest.mark.parametrize("name", [path.name for path in LANGUAGE_MODELS])
def test_the_configurations_that_come_along_have_the_size_they_claim(name: str) -> None:
    comment = (CONFIGS / name).read_text("utf-8").partition("[model]")[0].replace("\n# ", " ")
    claim = re.search(
        r"([\d.]+) M parameters at (?:their |the )?([\d,]+) (?:words|symbols)", comment
    )
    assert claim
    config = TrainingConfig.from_file(CONFIGS / name, budget_minutes=1.0)
    with torch.device("meta"):
        model = config.new_model(vocabulary_size=int(claim[2].replace(",", "")))
    count = sum(parameter.numel() for parameter in model.parameters())
    digits = len(claim[1].partition(".")[2])
    assert float(claim[1]) == round(count / 1e6, digits)


def test_the_configuration_of_span_models_has_the_size_it_claims() -> None:
    comment = (CONFIGS / "spans.toml").read_text("utf-8").partition("[model]")[0]
    claim = re.search(
        r"([\d.]+) M parameters with ([\d,]+) words and ([\d,]+) vectors",
        comment.replace("\n# ", " "),
    )
    assert claim
    words, vectors = (int(number.replace(",", "")) for number in claim.groups()[1:])
    config = SpanTrainingConfig.from_file(CONFIGS / "spans.toml")
    with torch.device("meta"):
        model = SpanModel(config.model_config(words, vectors, 81, 100))
    count = sum(parameter.numel() for parameter in model.parameters())
    assert float(claim[1]) == round(count / 1e6, 1)


def test_layer_splits_of_table_3_and_every_thesis_model_have_their_configurations() -> None:
    configs = [TrainingConfig.from_file(path, epochs=1.0) for path in LANGUAGE_MODELS]
    splits = {config.model_config(10_000).components for config in configs}
    # Table 3 lists i_3 i_2 i_1 i_0, components are i_0 to i_3; 20 0 0 0 is made by the recipe.
    table_3 = ("15 0 0 0", "15 0 0 5", "15 0 5 0", "15 5 0 0", "10 5 0 5", "10 5 5 0")
    assert {tuple(map(int, reversed(row.split()))) for row in table_3} <= splits
    for family in ("thesis", "small"):
        names = {TrainingConfig.from_file(path).architecture for path in CONFIGS.glob(f"{family}*")}
        assert names == ARCHITECTURES.keys()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[training]\nlerning_rate = 1\n", "unknown setting 'lerning_rate' in [training]"),
        ("[training]\nhidden_sizes = [2]\n", "unknown setting 'hidden_sizes' in [training]"),
        ("[training.model]\ntied = true\n", "unknown setting 'model' in [training]"),
        (
            "[training]\nepochs = 1\n[model]\nhidden = [2]\n",
            "unknown setting 'hidden' in [model] of awd-lstm-doc",
        ),
        (
            '[training]\nepochs = 1\n[model]\narchitecture = "rnn-n"\nwindow = 5\n',
            "unknown setting 'window' in [model] of rnn-n",
        ),
        ("[optimizer]\nmomentum = 1\n", "'optimizer' is neither [training] nor [model]"),
        ("seed = 5\n", "'seed' is neither [training] nor [model]"),
        ("training = 5\n", "[training] must be a table, got 5"),
        ("[[model]]\ntied = true\n", "[model] must be a table, got [{'tied': True}]"),
    ],
)
def test_names_nobody_knows(path: Path, text: str, reason: str) -> None:
    assert refusal(path, text) == reason


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ("seed = 1.5", "seed must be a whole number, got 1.5"),
        ("batch_tokens = 256.0", "batch_tokens must be a whole number, got 256.0"),
        ("validate_every = true", "validate_every must be a whole number, got True"),
        ('learning_rate = "fast"', "learning_rate must be a number, got 'fast'"),
        ("clip = false", "clip must be a number, got False"),
        ("recipe = 1", "recipe must be text, got 1"),
        ("weight_decay = [0.1]", "weight_decay must be a number, got [0.1]"),
        ('recipe = "slow"', "recipe must be fast or paper or thesis, got 'slow'"),
        ('precision = "float16"', "precision must be bfloat16 or float32, got 'float16'"),
        (
            'stored_precision = "int4"',
            "stored_precision must be float16 or float32 or int8 or int6, got 'int4'",
        ),
        ("budget_minutes = -1", "budget_minutes must be a finite number of at least 0, got -1"),
        ("learning_rate = nan", "learning_rate must be a finite number of at least 0, got nan"),
        ("budget_minutes = inf", "budget_minutes must be a finite number of at least 0, got inf"),
        ("learning_rate = 0", "learning_rate is 0: nothing would be learned"),
        ("clip = 0.0", "clip is 0: nothing would be learned"),
        ("batch_tokens = 0", "batch_tokens must be at least 1, got 0"),
        ("shards = 10001", "shards must be at most 10,000, got 10001"),
        ("batch_size = 0", "batch_size must be at least 1, got 0"),
        ("sequence_length = 0", "sequence_length must be at least 1, got 0"),
        ("non_monotone_interval = 0", "non_monotone_interval must be at least 1, got 0"),
    ],
)
def test_training_values_that_make_no_sense(path: Path, setting: str, reason: str) -> None:
    assert refusal(path, f"[training]\nepochs = 1\n{setting}\n") == reason


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ("vocabulary_size = 5", "unknown setting 'vocabulary_size' in [model] of awd-lstm-doc"),
        (
            'architecture = "transformer"',
            "architecture must be one of awd-lstm-doc, rnn-n, attention, key-value, "
            "key-value-predict, recurrent-memory, lstmn, got 'transformer'",
        ),
        (
            "architecture = 3",
            "architecture must be one of awd-lstm-doc, rnn-n, attention, key-value, "
            "key-value-predict, recurrent-memory, lstmn, got '3'",
        ),
        (
            'architecture = "attention"\nwindow = 0',
            "window must be an integer from 1 to 1000, got 0",
        ),
        ('architecture = "lstmn"\nwindow = 2.5', "window must be a whole number, got 2.5"),
        (
            'architecture = "key-value"\nhidden_sizes = [7]\nembedding_size = 5',
            "the last of hidden_sizes is 7, which is not a multiple of 2",
        ),
        ('embedding_size = "big"', "embedding_size must be a whole number, got 'big'"),
        ("embedding_size = 12.5", "embedding_size must be a whole number, got 12.5"),
        ("hidden_sizes = 5", "hidden_sizes must be a list of whole numbers, got 5"),
        ("hidden_sizes = [5, 2.5]", "hidden_sizes must be a list of whole numbers, got (5, 2.5)"),
        ("components = [true]", "components must be a list of whole numbers, got (True,)"),
        ("tied = 1", "tied must be true or false, got 1"),
        (
            "embedding_range = -0.1",
            "embedding_range must be a finite number of at least 0, got -0.1",
        ),
        ('component_activation = "relu"', "component_activation must be tanh or none"),
    ],
)
def test_model_values_that_make_no_sense(path: Path, setting: str, reason: str) -> None:
    assert refusal(path, f"[training]\nepochs = 1\n[model]\n{setting}\n") == reason


@pytest.mark.parametrize(
    ("setting", "name"),
    [
        ("hidden_sizes = []", "hidden_sizes"),
        ("components = [1, 2]", "components"),
        ("word_dropout = 1.0", "dropout"),
    ],
)
def test_what_the_model_itself_refuses_names_the_setting(
    path: Path, setting: str, name: str
) -> None:
    assert name in refusal(path, f"[training]\nepochs = 1\n[model]\n{setting}\n")


def test_the_fast_recipe_needs_an_end_and_the_paper_s_does_not(path: Path) -> None:
    reason = refusal(path, "[model]\ntied = true\n")
    assert reason == "the fast recipe needs budget_minutes or epochs, for its learning rate"
    path.write_text('[training]\nrecipe = "paper"\n')
    assert TrainingConfig.from_file(path).recipe == "paper"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "nowhere.toml"
    with pytest.raises(ConfigError, match=re.escape(f"{path}: No such file or directory")):
        TrainingConfig.from_file(path)
    with pytest.raises(ConfigError, match=re.escape(f"{tmp_path}: Is a directory")):
        TrainingConfig.from_file(tmp_path)


def test_a_file_that_is_not_toml(path: Path) -> None:
    assert "line 1" in refusal(path, "[training\n")
    assert "Cannot overwrite a value" in refusal(path, "[training]\nseed = 1\nseed = 2\n")
    path.write_bytes(b'[training]\nrecipe = "caf\xe9"\n')
    with pytest.raises(ConfigError, match=r"run\.toml: 'utf-8' codec"):
        TrainingConfig.from_file(path)


def test_to_dict_tells_two_runs_apart(path: Path) -> None:
    path.write_text("[training]\nepochs = 1\n[model]\nhidden_sizes = [6, 280]\ncomponents = []\n")
    one, other = TrainingConfig.from_file(path), TrainingConfig.from_file(path, seed=2)
    assert one.to_dict() == TrainingConfig.from_file(path).to_dict()
    assert {**one.to_dict(), "seed": 2} == other.to_dict()
    assert one.to_dict()["model"] == {"hidden_sizes": [6, 280], "components": []}


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (
            'recipe = "fast"\nepochs = 1',
            "text needs recipe paper or thesis: the fast one reads every tree from the start",
        ),
        (
            'recipe = "paper"\ndirection = "backward"',
            "text is read forward, but direction is backward",
        ),
        (
            'recipe = "paper"\nvalidation_trees = 5',
            "validation_trees is for trees; all of the dev text is read",
        ),
        (
            'recipe = "thesis"',
            "the thesis recipe needs budget_minutes or epochs: nothing else ends it",
        ),
    ],
)
def test_what_text_cannot_have(path: Path, settings: str, reason: str) -> None:
    assert refusal(path, f"[training]\ntext = true\n{settings}\n") == reason


def test_the_papers_recipe_keeps_the_best(path: Path) -> None:
    """Were the last weights counted as better each time, it would never end."""
    assert refusal(path, '[training]\nrecipe = "paper"\nkeep = "last"\n') == (
        "keep = last does not go with recipe = paper, which returns to the best weights until they "
        "stop improving"
    )
