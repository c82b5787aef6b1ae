"""The server of the pages: what it offers, at which address, and to whom. NiceGUI (extra `web`) does the rest."""

from __future__ import annotations

import contextlib
import errno
import importlib.util
import ipaddress
import secrets
import socket
from collections.abc import Callable
from typing import Any

from athenan_spiel.errors import ConfigError, shown
from athenan_spiel.web.error_responses import ErrorResponses
from athenan_spiel.web.gate import LOOPBACK, Gate
from athenan_spiel.web.site import Site
from athenan_spiel.web.visits import Visits

PORT = 8000
"""Where nothing else is said."""
RECONNECT_SECONDS = 20.0
"""How long a page that has lost its connection may come back as it was; a browser that is busy may be silent for a part
of it."""
TICK_SECONDS = 0.05
"""Between two looks at what the matches' agents have found."""

RUN: dict[str, Any] = {
    "title": "athenan",
    "dark": None,
    "show_welcome_message": False,
    "reconnect_timeout": RECONNECT_SECONDS,
}
"""What NiceGUI is told of the pages."""


def require_web() -> None:
    """Refuse to go on without NiceGUI.

    Raises:
        ConfigError: it is not installed.
    """
    if importlib.util.find_spec("nicegui") is None:
        raise ConfigError("pages need the extra `web`, which is not installed: pip install 'athenan-spiel[web]'")


def require_free(host: str, port: int) -> None:
    """Refuse an address that cannot be listened at.

    Raises:
        ConfigError: the port is taken or no port, or the host is none of this machine's.
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
            raise ConfigError(f"port {port} is in use: name another one, such as --port {port % 65535 + 1}") from None
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(f"cannot listen at {shown(host)}, port {port}: {reason}") from None


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches the address."""
    if host.lower() in LOOPBACK:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def serve(
    site: Site, host: str, port: int, *, opens: bool, tell: Callable[[str], object], memory: int | None = None
) -> None:
    """Serve the pages until the process is asked to stop.

    Args:
        opens: whether the machine's browser is opened.
        tell: is told the address.
        memory: Memory limit of this process, in bytes; None: half of what it may use.

    Raises:
        ConfigError: NiceGUI is missing, the address cannot be listened at, or the memory limit is too small.
    """
    require_web()
    require_free(host, port)
    from nicegui import app, ui

    from athenan_spiel.web.pages import add_pages
    from athenan_spiel.web.runs import RunReader

    token = None if is_loopback(host) else secrets.token_urlsafe(16)
    visits, runs = Visits(memory), RunReader()
    add_pages(site, visits, runs)
    app.add_middleware(Gate, token=token)
    app.add_middleware(ErrorResponses)  # the outermost, as it is added last
    app.timer(TICK_SECONDS, visits.tick)
    app.on_shutdown(visits.close)
    app.on_shutdown(runs.close)
    shown_host = f"[{host}]" if ":" in host else host
    address = f"http://{shown_host}:{port}/" + ("" if token is None else f"?token={token}")
    tell(f"open {address} in a browser; Ctrl-C ends it")
    with contextlib.suppress(KeyboardInterrupt):  # as this is how it ends
        ui.run(host=host, port=port, reload=False, show=opens, **RUN)
