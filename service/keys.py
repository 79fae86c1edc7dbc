"""API keys and admin keys, and the labels by which logs and metrics name them."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr
from starlette.datastructures import Headers

from reranker.errors import InputError
from reranker.files.opening import read_text
from reranker.service.errors import RequestError
from reranker.service.settings import Settings, check_key

OPEN_PATHS = frozenset({"/health", "/health/live", "/health/ready"})

NO_KEY, INVALID_KEY = "none", "invalid"
"""Labels of requests without a key, and with an unknown key."""

_LABEL = re.compile(r"[\w.-]{1,40}", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Key:
    digest: bytes
    label: str


class Keys:
    """The valid keys: several at once, so that one can be replaced without downtime."""

    def __init__(self, settings: Settings) -> None:
        """Read the keys; raises InputError if a file of keys cannot be read or is empty."""
        self._users = _read_keys(settings, "api_keys", "key")
        self._admins = _read_keys(settings, "admin_keys", "admin")

    def label(self, path: str, headers: Headers) -> str:
        """Return the label of a request's key, never the key itself. Open paths ask for no key."""
        keys = self._users + self._admins
        given = _sent_key(headers, with_basic=True) if keys and path not in OPEN_PATHS else None
        return NO_KEY if given is None else _find(given, keys) or INVALID_KEY

    def check(self, path: str, label: str, headers: Headers) -> None:
        """Raise RequestError 401 unless the path is open or ``label`` is the label of a key."""
        if path not in OPEN_PATHS and self._users and label in (NO_KEY, INVALID_KEY):
            raise _unauthorized(label, headers)

    def check_admin(self, headers: Headers) -> None:
        """Raise RequestError 401 or 403 unless an admin key is given."""
        if not self._admins:
            raise RequestError(403, "no-admin-key", "no admin keys are configured")
        # Browsers attach a basic password to requests from any site's page: not enough here.
        given = _sent_key(headers, with_basic=False)
        if given is None:
            raise _unauthorized(NO_KEY, headers)
        if _find(given, self._admins) is None:
            raise RequestError(403, "not-admin", "an admin key is required", _header(headers))


def _read_keys(settings: Settings, name: str, kind: str) -> list[_Key]:
    """Read the keys of the setting ``name`` and of its file. Keys without a label are numbered:
    ``key-1``."""
    keys: list[SecretStr] = getattr(settings, name)
    file: Path | None = getattr(settings, f"{name}_file")
    texts = [(key.get_secret_value(), "") for key in keys]
    if file is not None:
        place = f"setting {name}_file: {file}"
        try:
            lines = read_text(file, "utf-8-sig").splitlines()
        except (OSError, ValueError) as error:
            # Of other errors nothing is quoted: it may be part of a key.
            reason = error.strerror if isinstance(error, OSError) else "not text in UTF-8"
            raise InputError(f"{place}: cannot be read: {reason}") from error
        lines = [line.strip() for line in lines]
        keys_in_file = [line for line in lines if line and not line.startswith("#")]
        if not keys_in_file:
            raise InputError(f"{place}: contains no keys; write them one per line")
        in_file = [_split_label(line, file) for line in keys_in_file]
        try:
            for key, _ in in_file:
                check_key(key)
        except ValueError as error:
            raise InputError(f"{place}: {error}") from error
        texts += in_file
    return [
        _Key(hashlib.sha256(text.encode()).digest(), label or f"{kind}-{number}")
        for number, (text, label) in enumerate(texts, 1)
    ]


def _split_label(line: str, file: Path) -> tuple[str, str]:
    """Split ``KEY # label``, or a key alone."""
    text, mark, label = line.partition(" #")
    label = label.strip()
    if mark and (not _LABEL.fullmatch(label) or label in (NO_KEY, INVALID_KEY)):
        # Not quoted: it may be part of a key.
        raise InputError(f"{file}: a label has up to 40 letters, digits and . _ - after ' #'")
    return text.strip(), label


def _sent_key(headers: Headers, with_basic: bool) -> bytes | None:
    """Return the key in ``X-API-Key`` or ``Authorization``; the basic form is for browsers."""
    if key := headers.get("x-api-key"):
        return key.encode("latin-1")
    scheme, _, value = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return value.strip().encode("latin-1")
    if scheme.lower() == "basic" and with_basic:
        try:
            return base64.b64decode(value, validate=True).partition(b":")[2]
        except (binascii.Error, ValueError):
            return b""
    return None


def _find(given: bytes, known: list[_Key]) -> str | None:
    """Return the label of a key, or None for an unknown key. All keys are compared, so that the
    time does not depend on the key."""
    digest = hashlib.sha256(given).digest()
    labels = [key.label for key in known if hmac.compare_digest(digest, key.digest)]
    return labels[0] if labels else None


def _header(headers: Headers) -> str:
    """Return the name of the header with the key, or of the header that should have had a key."""
    return "X-API-Key" if headers.get("x-api-key") else "Authorization"


def _unauthorized(label: str, headers: Headers) -> RequestError:
    message = "an API key is required" if label == NO_KEY else "invalid key"
    error = RequestError(401, "unauthorized", message, _header(headers))
    error.headers["WWW-Authenticate"] = 'Bearer realm="rerank", Basic realm="rerank"'
    return error
