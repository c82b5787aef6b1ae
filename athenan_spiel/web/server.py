"""Web server of the pages, on NiceGUI (extra `web`)."""

from __future__ import annotations

import contextlib
import errno
import functools
import importlib.util
import ipaddress
import secrets
import socket
from collections.abc import Callable
from typing import Any

from athenan_spiel.errors import ConfigError, shown
from athenan_spiel.web.access import LOOPBACK, AccessControl
from athenan_spiel.web.error_responses import ErrorResponses
from athenan_spiel.web.sessions import GameSessions
from athenan_spiel.web.site import SiteContent

PORT = 8000
"""Default port."""
RECONNECT_SECONDS = 20.0
"""Seconds within which a disconnected page may reconnect; a busy browser may be silent for part of it."""
TICK_SECONDS = 0.05
"""Seconds between two updates of the games."""

RUN: dict[str, Any] = {
    "title": "athenan",
    "dark": None,
    "show_welcome_message": False,
    "reconnect_timeout": RECONNECT_SECONDS,
}
"""Options of NiceGUI."""


def require_web() -> None:
    """Checks that NiceGUI is installed.

    Raises:
        ConfigError: it is not installed.
    """
    if importlib.util.find_spec("nicegui") is None:
        raise ConfigError("the pages need the extra `web`: pip install 'athenan-spiel[web]'")


def require_free(host: str, port: int) -> None:
    """Checks that the server can listen at an address.

    Raises:
        ConfigError: the port is invalid or in use, or the host is not one of this machine's.
    """
    if not 1 <= port <= 65535:
        raise ConfigError(f"expected a port from 1 to 65535, got {port}")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
    except (OSError, UnicodeError) as error:
        number = getattr(error, "errno", None)
        if number == errno.EADDRINUSE:
            raise ConfigError(f"port {port} is in use: choose another, such as --port {port % 65535 + 1}") from None
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(f"cannot listen at {shown(host)}, port {port}: {reason}") from None


def is_loopback(host: str) -> bool:
    """Returns whether only this machine can reach the address."""
    if host.lower() in LOOPBACK:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def serve(
    site: SiteContent, host: str, port: int, *, opens: bool, tell: Callable[[str], object], memory: int | None = None
) -> None:
    """Serves the pages until the process is interrupted.

    Args:
        opens: opens this machine's browser.
        tell: prints the address.
        memory: memory limit of the process, in bytes; by default half of what it may use.

    Raises:
        ConfigError: NiceGUI is missing, the server cannot listen at the address, or the memory limit is too small.
    """
    require_web()
    require_free(host, port)
    from nicegui import app, ui

    from athenan_spiel.web.pages import add_pages
    from athenan_spiel.web.runs import RunReader

    token = None if is_loopback(host) else secrets.token_urlsafe(16)
    sessions, runs = GameSessions(memory), RunReader()
    add_pages(site, sessions, runs)
    app.add_middleware(AccessControl, token=token)
    app.add_middleware(ErrorResponses)  # the outermost, as it is added last
    if site.runs is not None:
        app.on_startup(functools.partial(runs.prepare, site.runs))
    app.storage.max_tab_storage_age = RECONNECT_SECONDS  # no page uses it; by default it is kept for a month
    app.timer(TICK_SECONDS, sessions.tick)
    app.on_shutdown(sessions.close)
    app.on_shutdown(runs.close)
    shown_host = f"[{host}]" if ":" in host else host
    address = f"http://{shown_host}:{port}/" + ("" if token is None else f"?token={token}")
    tell(f"open {address} in a browser; press Ctrl-C to stop")
    with contextlib.suppress(KeyboardInterrupt):  # the usual end
        ui.run(host=host, port=port, reload=False, show=opens, **RUN)
