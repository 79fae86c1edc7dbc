"""The schemas that check-jsonschema brings along."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result


def checked(schema: str, *files: Path) -> Result:
    """Return the result of ``check-jsonschema`` for files that should follow a vendor's schema."""
    from check_jsonschema import main  # type: ignore[import-untyped]  # slow to import

    arguments = ["--builtin-schema", f"vendor.{schema}", *map(str, files)]
    return CliRunner().invoke(main, arguments)
