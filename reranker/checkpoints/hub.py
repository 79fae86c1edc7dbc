"""Models on the Hugging Face hub: ``hf://OWNER/NAME``, ``hf://OWNER/NAME@REVISION`` for its branch,
tag or commit, and ``hf://OWNER/NAME/FILE.toml`` for one of its ensemble files."""

from __future__ import annotations

import logging
import re
from pathlib import Path

from reranker.errors import InputError
from reranker.files.opening import file_sha256

_NAME = re.compile(r"hf://([\w.-]+/[\w.-]+)(?:@([\w./-]+?))?(?:/([\w.-]+\.toml))?")
_LOGGER = logging.getLogger(__name__)


def from_hub(name: str) -> Path:
    """Return the folder, or the ensemble file, on this machine; fetch missing files. The origin is
    logged, with the first digits of every checkpoint's SHA-256.

    Raises InputError, naming ``name``, for a malformed name, for a repository, revision or file
    that does not exist or cannot be reached, and if the extra ``hub`` is missing.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        raise InputError(
            f"{name}: expected hf://OWNER/NAME, hf://OWNER/NAME@REVISION or .../FILE.toml"
        )
    repository, revision, file = match.groups()
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError
    except ImportError as error:
        raise InputError(
            f"{name}: models of the hub need `pip install 'parse-reranker[hub]'` ({error})"
        ) from error
    try:
        folder = Path(
            snapshot_download(repository, revision=revision, allow_patterns=["*.pt", "*.toml"])
        )
    except (OSError, ValueError, HfHubHTTPError) as error:
        reason = next(filter(None, (line.strip() for line in str(error).splitlines())), "no reason")
        raise InputError(f"{name}: cannot be fetched: {reason}") from error
    path = folder / file if file else folder
    if not path.exists():
        files = ", ".join(sorted(each.name for each in folder.glob("*.toml"))) or "none"
        raise InputError(f"{name}: no such file in it; its ensemble files: {files}")
    hashes = " ".join(
        f"{each.name}:{file_sha256(each)[:8]}" for each in sorted(folder.glob("*.pt"))
    )
    _LOGGER.info("%s: commit %s, %s", name, folder.name[:12], hashes or "no checkpoints")
    return path
