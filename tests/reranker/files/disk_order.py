"""What is done to the disk, in order: seen, and done all the same."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def disk_order(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Grows by what is written to the disk and by new names, of files in a folder and of itself."""
    order: list[str] = []
    fsync, replace, link = os.fsync, os.replace, os.link

    def written(descriptor: int) -> None:
        number = os.fstat(descriptor).st_ino
        files = {each.stat().st_ino: each.suffix for each in folder.iterdir()}
        order.append(f"write {files.get(number, 'folder')}")
        fsync(descriptor)

    def replaced(source: Path, target: Path) -> None:
        order.append(f"{Path(source).suffix} -> {Path(target).name}")
        replace(source, target)

    def linked(source: Path, target: Path) -> None:
        order.append(f"{Path(source).suffix} -> {Path(target).name}")
        link(source, target)

    monkeypatch.setattr(os, "fsync", written)
    monkeypatch.setattr(os, "replace", replaced)
    monkeypatch.setattr(os, "link", linked)
    return order
