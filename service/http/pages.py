"""The pages for browsers, which come along, and the files that the pages are made of."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.responses import FileResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.middleware.gzip import GZipMiddleware

PAGES = {"/": "index.html", "/help": "help.html", "/docs": "api.html"}

_FOLDER = Path(__file__).parents[1] / "page"
_CHECKED = {"Cache-Control": "no-cache"}  # browsers keep a file, and ask whether it has changed


def add_pages(app: FastAPI) -> None:
    for path, name in PAGES.items():
        app.get(path, include_in_schema=False)(_page(name))
    app.mount("/page", GZipMiddleware(_Files(directory=_FOLDER), minimum_size=500))


def _page(name: str) -> Callable[[], Awaitable[Response]]:
    async def page() -> Response:
        return FileResponse(_FOLDER / name, headers=_CHECKED)

    return page


class _Files(StaticFiles):
    def file_response(self, *args: Any, **options: Any) -> Response:
        answer = super().file_response(*args, **options)
        answer.headers.update(_CHECKED)
        return answer
