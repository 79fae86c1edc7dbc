"""The layers around every request: an id, headers and a line in the log; checks of the host, of the
web page that sent the request, and of the key."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import time
import uuid
from collections.abc import Collection

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from reranker.service import fairness
from reranker.service.errors import RequestError, described, draining
from reranker.service.http.envelope import envelope
from reranker.service.http.pages import PAGES
from reranker.service.http.request_state import RequestState, state_of
from reranker.service.keys import OPEN_PATHS
from reranker.service.lifecycle import Service

_LOGGER = structlog.get_logger("rerank.request")
_REQUEST_ID = re.compile(r"[\w.-]{1,64}", re.ASCII)
_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
_QUIET = {"/health", "/health/live", "/health/ready", "/metrics"}
_OF_PAGES = {"/info", "/openapi.json"}

SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; object-src 'none'; "
    "form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class RequestLog:
    """The outermost layer, which numbers, logs and counts requests, and lets no exception pass."""

    def __init__(self, app: ASGIApp, service: Service, paths: Collection[str]) -> None:
        self._app, self._service, self._paths = app, service, set(paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get("x-request-id", "")
        request_id = given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
        state = RequestState(request_id)
        state.add_to(scope)
        status = 0
        is_ambiguous = _has_two_lengths(scope)

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                self._add_headers(headers, request_id)
                if is_ambiguous:
                    headers["Connection"] = "close"
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        except (Exception, asyncio.CancelledError) as error:
            failure = self._failure(error, state)
            if not status:
                await envelope(failure, request_id)(scope, receive, send_with_headers)
        finally:
            self._count(scope, state, status)

    def _failure(self, error: BaseException, state: RequestState) -> RequestError:
        """Return the answer to a request that failed, or that the web server cancels once it has
        waited long enough for the last answers."""
        if isinstance(error, asyncio.CancelledError):
            ended = draining()
            state.details["code"] = ended.code
            return ended
        state.details.update(described(error, self._service.settings.log_text))
        _LOGGER.error("internal error", request_id=state.request_id, **state.details)
        message = "internal error; see the service's log for details"
        return RequestError(500, "internal", message)

    def _add_headers(self, headers: MutableHeaders, request_id: str) -> None:
        headers["X-Request-ID"] = request_id
        for name, value in SECURITY_HEADERS.items():
            headers.setdefault(name, value)
        headers.setdefault("Cache-Control", "no-store")
        if self._service.is_draining:
            headers["Connection"] = "close"

    def _count(self, scope: Scope, state: RequestState, status: int) -> None:
        seconds = time.monotonic() - state.arrived
        path = "/page" if scope["path"].startswith("/page/") else scope["path"]
        # Unknown paths share one label: a scan must not fill Prometheus.
        path = path if path in self._paths else "other"
        method = scope["method"] if scope["method"] in _METHODS else "other"
        metrics = self._service.metrics
        metrics.requests.labels(path, method, str(status)).inc()
        metrics.latency.labels(path).observe(seconds)
        metrics.key_requests.labels(state.key, f"{status // 100}xx" if status else "none").inc()
        if _is_quiet(path, status, Headers(scope=scope)):
            return
        is_page = path in PAGES and status < 400
        log = _LOGGER.debug if is_page else _LOGGER.info
        log(
            "request",
            request_id=state.request_id,
            method=method,
            path=path,
            status=status,
            seconds=round(seconds, 4),
            client=fairness.address(scope),
            key=state.key,
            **state.details,
        )


def _is_quiet(path: str, status: int, headers: Headers) -> bool:
    """Return whether a request has no line in the log: a probe, or a file or description that a
    page fetches. The page itself has a line."""
    if path == "/page":
        return status < 400
    is_of_page = headers.get("sec-fetch-site") == "same-origin"
    return status == 200 and (path in _QUIET or (path in _OF_PAGES and is_of_page))


def _has_two_lengths(scope: Scope) -> bool:
    """Return whether a proxy could see another end of the body than the service (RFC 9112, 6.1).
    Then the bytes after the body must not be taken for a request."""
    return {b"transfer-encoding", b"content-length"} <= {name for name, _ in scope["headers"]}


class HeadAsGet:
    """A layer that answers HEAD like GET; the web server leaves out the body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "HEAD":
            scope = {**scope, "method": "GET"}
        await self._app(scope, receive, send)


class RequestCheck:
    """A layer that refuses requests that another site's page could make a browser send: to a host
    name that the service does not serve, since DNS can point any name here (421), and from an
    origin that is not among ``cors_origins`` (403). Probes of health may use any name. Then keys
    are checked (401), inside CORS, since preflight requests carry no key."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service, settings = app, service, service.settings
        self._named = {name.lower().rstrip(".") for name in settings.allow_host}
        self._is_any = "*" in self._named or (settings.has_keys and not self._named)
        self._hosts = self._named | {"localhost", settings.host.lower()}
        self._origins = set(settings.cors_origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            state = state_of(scope)
            try:
                self._check(scope["path"], Headers(scope=scope), scope, state)
            except RequestError as error:
                await envelope(error, state.request_id)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _check(self, path: str, headers: Headers, scope: Scope, state: RequestState) -> None:
        if path not in OPEN_PATHS:
            self._check_host(headers.get("host", ""))
            self._check_origin(headers.get("origin"), headers.get("host", ""))
        keys = self._service.keys
        state.key = keys.label(path, headers)
        state.client = fairness.client(scope, state.key)
        keys.check(path, state.key, headers)

    def _check_host(self, host: str) -> None:
        name = _host_name(host)
        if self._is_any or name in self._hosts or _is_address(name):
            return
        message = "this host name is not served; `rerank serve --allow-host NAME` allows it"
        raise RequestError(421, "wrong-host", message, "Host")

    def _check_origin(self, origin: str | None, host: str) -> None:
        if origin is None or origin in self._origins or "*" in self._origins:
            return
        authority = origin.partition("://")[2].lower()
        if authority == host.lower() or _host_name(authority) in self._named:
            return
        message = "requests of other sites' pages are refused; `--cors-origins` allows some"
        raise RequestError(403, "wrong-origin", message, "Origin")


def _host_name(authority: str) -> str:
    """Return the host without its port."""
    name, colon, port = authority.lower().rpartition(":")
    return (name if colon and port.isdigit() else authority.lower()).rstrip(".")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True
