"""The operations on the disk, recorded in order and carried out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest


def disk_order(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that grows with each write to the disk and each new name, of files in a folder
    and of the folder itself."""
    order: list[str] = []
    fsync, replace, link = os.fsync, os.replace, os.link

    def written(descriptor: int) -> None:
        number = os.fstat(descriptor).st_ino
        names = {each.stat().st_ino: each.suffix for each in folder.iterdir()}
        names[folder.stat().st_ino] = "folder"
        order.append(f"write {names.get(number, 'new')}")
        fsync(descriptor)

    def replaced(source: Path, target: Path) -> None:
        order.append(f"replace {Path(target).name}")
        replace(source, target)

    def linked(source: Path, target: Path, **options: Any) -> None:
        if Path(target).suffix != ".tmp":
            order.append(f"create {Path(target).name}")
        link(source, target, **options)

    monkeypatch.setattr(os, "fsync", written)
    monkeypatch.setattr(os, "replace", replaced)
    monkeypatch.setattr(os, "link", linked)
    return order
