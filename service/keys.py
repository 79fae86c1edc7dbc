"""API keys and admin keys."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Iterable
from pathlib import Path

from pydantic import SecretStr
from starlette.datastructures import Headers

from reranker.errors import InputError
from reranker.service.errors import ServiceError
from reranker.service.settings import Settings

OPEN_PATHS = frozenset({"/health/live", "/health/ready"})


class Keys:
    """Several keys are valid at once, so that one can be replaced without downtime."""

    def __init__(self, settings: Settings) -> None:
        """Raises InputError if a file of keys cannot be read or is empty."""
        self._users = _digests(settings.api_keys, settings.api_keys_file)
        self._admins = _digests(settings.admin_keys, settings.admin_keys_file)

    def check(self, path: str, headers: Headers) -> None:
        """Raises ServiceError 401 unless the path is open or one of the keys is given."""
        if path in OPEN_PATHS or not self._users:
            return
        given = _given(headers, with_basic=True)
        if not _is_known(given, self._users + self._admins):
            raise _unauthorized(given)

    def check_admin(self, headers: Headers) -> None:
        """Raises ServiceError 401 or 403 unless an admin key is given."""
        if not self._admins:
            raise ServiceError(403, "no-admin-key", "no admin keys are configured")
        # Browsers attach a basic password to requests from any site's page: not enough here.
        given = _given(headers, with_basic=False)
        if given is None:
            raise _unauthorized(given)
        if not _is_known(given, self._admins):
            raise ServiceError(403, "not-admin", "an admin key is required")


def _digests(keys: Iterable[SecretStr], file: Path | None) -> list[bytes]:
    texts = [key.get_secret_value() for key in keys]
    if file is not None:
        try:
            lines = file.read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError) as error:
            raise InputError(f"{file}: cannot be read") from error
        keys_in_file = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
        if not keys_in_file:
            raise InputError(f"{file}: contains no keys")
        texts += keys_in_file
    return [hashlib.sha256(text.encode()).digest() for text in texts]


def _given(headers: Headers, with_basic: bool) -> bytes | None:
    """The key in ``X-API-Key`` or ``Authorization``; browsers send the latter in basic form."""
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


def _is_known(given: bytes | None, known: list[bytes]) -> bool:
    """In constant time: compares with every key, and all bytes of its digest."""
    digest = hashlib.sha256(given or b"").digest()
    matches = [hmac.compare_digest(digest, key) for key in known]
    return any(matches) and given is not None


def _unauthorized(given: bytes | None) -> ServiceError:
    message = "an API key is required" if given is None else "invalid key"
    error = ServiceError(401, "unauthorized", message, "Authorization")
    error.headers["WWW-Authenticate"] = 'Bearer realm="rerank", Basic realm="rerank"'
    return error
