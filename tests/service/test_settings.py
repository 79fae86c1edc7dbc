"""Settings come from flags, else the environment, else a file."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from reranker.errors import InputError
from reranker.service.settings import Settings, add_arguments, load_settings


def from_flags(*flags: str) -> Settings:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    add_arguments(parser)
    return load_settings(vars(parser.parse_args(flags)))


def test_flags_beat_the_environment_which_beats_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "service.toml"
    file.write_text('port = 1\nmax_depth = 11\nmodels = ["a.pt"]\nbatch_tokens = 5\n')
    monkeypatch.setenv("RERANK_CONFIG", str(file))
    monkeypatch.setenv("RERANK_PORT", "2")
    monkeypatch.setenv("RERANK_MAX_DEPTH", "12")
    monkeypatch.setenv("RERANK_CORS_ORIGINS", "https://a.org, https://b.org")
    monkeypatch.setenv("RERANK_LOG_TEXT", "1")
    found = from_flags("--port", "3", "--models", "b.pt", "c.pt", "--no-log-text")
    assert (found.port, found.max_depth, found.batch_tokens) == (3, 12, 5)
    assert found.models == ["b.pt", "c.pt"]
    assert found.cors_origins == ["https://a.org", "https://b.org"]
    assert found.log_text is False
    other = tmp_path / "other.toml"
    other.write_text("port = 4\n")
    monkeypatch.delenv("RERANK_PORT")
    assert from_flags("--config", str(other)).port == 4


def test_without_names_models_are_those_of_this_folder_or_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = from_flags()
    assert settings.loading["models"] is None
    (tmp_path / "ckpt").mkdir()
    (tmp_path / "ckpt" / "a.pt").touch()
    assert settings.loading["models"] == ["ckpt/*.pt"]
    assert from_flags("--models", "b.pt").loading["models"] == ["b.pt"]


@pytest.mark.parametrize(
    "flags, message",
    [
        (["--port", "70000"], "setting port: "),
        (["--max-depth", "2001"], "setting max_depth: "),
        (["--batch-tokens", "0"], "setting batch_tokens: "),
        (["--candidates", "10001"], "setting candidates: "),
        (["--cors-origins", "https://a.example/"], "setting cors_origins: "),
        (["--cors-origins", "a.example"], "setting cors_origins: "),
        (["--cors-origins", "https://A.example"], "setting cors_origins: "),
        (["--allow-host", "https://a.example"], "setting allow_host: "),
        (["--allow-host", "a.example:8000"], "setting allow_host: "),
        (["--allow-host", "*.a.example"], "setting allow_host: "),
        (["--heartbeat-seconds", "0.5"], "setting heartbeat_seconds: "),
        (["--request-seconds", "nan"], "setting request_seconds: "),
        (["--forwarded-allow-ips", "proxy"], "setting forwarded_allow_ips: "),
        (["--forwarded-allow-ips", "10.0.0.1/8"], "setting forwarded_allow_ips: "),
    ],
)
def test_a_wrong_value_is_named(flags: list[str], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        from_flags(*flags)


def test_a_wrong_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "wrong.toml"
    for text, message in (
        ("port = ", "invalid TOML"),
        ("prot = 1", "setting prot: unknown; did you mean port"),
        ("linger_seconds = 1", "setting linger_seconds: unknown"),
    ):
        file.write_text(text)
        with pytest.raises(InputError, match=message):
            from_flags("--config", str(file))


def test_origins_and_names_of_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    origins = ["*", "null", "https://a.example", "http://[::1]:8000", "chrome-extension://abc"]
    assert from_flags("--cors-origins", *origins).cors_origins == origins
    monkeypatch.setenv("RERANK_ALLOW_HOST", "Rerank.example, my_host, *, ::1, [::1]")
    assert from_flags().allow_host == ["Rerank.example", "my_host", "*", "::1", "[::1]"]


def test_trusted_proxies() -> None:
    trusted = ["10.0.0.0/8", "::1"]
    assert from_flags("--forwarded-allow-ips", *trusted).forwarded_allow_ips == trusted


def test_a_misspelt_variable_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """One letter too few, and the service would be open to everyone."""
    monkeypatch.setenv("RERANK_API_KEY", "secret")
    with pytest.raises(InputError, match="did you mean RERANK_API_KEYS") as caught:
        from_flags()
    assert "RERANK_API_KEY:" in str(caught.value) and "secret" not in str(caught.value)
    monkeypatch.delenv("RERANK_API_KEY")
    monkeypatch.setenv("rerank_colour", "red")
    with pytest.raises(InputError, match=r"variable rerank_colour: unknown setting$"):
        from_flags()


def test_keys_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RERANK_API_KEYS", "secret,other")
    found = from_flags()
    assert [key.get_secret_value() for key in found.api_keys] == ["secret", "other"]
    assert "secret" not in repr(found)
    with pytest.raises(SystemExit):
        from_flags("--api-keys", "secret")
