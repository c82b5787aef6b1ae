"""Access control: by default only this machine's browser; remote visitors need the token.

1. A request from another site's page is refused: its `Origin` differs from the host.
2. Without a token only names of this machine are answered, which prevents DNS rebinding.
3. With a token a visitor sends it once, as `?token=...`; a cookie keeps it.
"""

from __future__ import annotations

import hmac
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from athenan_spiel.web.error_responses import Application, Message, Receive, Send, respond

COOKIE = "athenan_token"
MAX_QUERY_FIELDS = 20
"""Maximum number of query fields searched for a token."""
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
"""Names of this machine."""


class AccessControl:
    """ASGI middleware that refuses requests without access.

    Args:
        application: application behind it.
        token: token that visitors need; None: only this machine has access.
    """

    def __init__(self, application: Application, token: str | None) -> None:
        self._application = application
        self._token = token

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Passes a request on, or refuses it."""
        if scope["type"] not in ("http", "websocket"):
            await self._application(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await respond(scope, send, 403, refusal)
        elif self._token is not None and self._query_has_token(scope):
            await self._application(scope, receive, _with_cookie(send, self._token))
        else:
            await self._application(scope, receive, send)

    def _refusal(self, scope: Message, headers: dict[str, str]) -> str | None:
        """Returns why the request is refused; None if it isn't."""
        host = headers.get("host", "")
        origin = headers.get("origin")
        if origin is not None and _netloc(origin) != host.lower():
            return "request from another site"
        if self._token is None:
            return (
                None
                if _name(host) in LOOPBACK
                else f"expected a name of this machine, such as localhost: {host[:80]!r}"
            )
        if self._query_has_token(scope) or self._has_cookie(headers):
            return None
        return "open the address with the token printed in the terminal"

    def _query_has_token(self, scope: Message) -> bool:
        try:
            query = parse_qs(scope.get("query_string", b"").decode("latin-1"), max_num_fields=MAX_QUERY_FIELDS)
        except ValueError:  # there are more
            return False
        return any(self._is_token(text) for text in query.get("token", []))

    def _has_cookie(self, headers: dict[str, str]) -> bool:
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        except CookieError:
            return False
        return cookie is not None and self._is_token(cookie.value)

    def _is_token(self, text: str) -> bool:
        assert self._token is not None
        return hmac.compare_digest(text.encode(), self._token.encode())


def _name(host: str) -> str:
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _netloc(origin: str) -> str:
    """Returns host and port of an origin; empty if it has none."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def _with_cookie(send: Send, token: str) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            cookie = f"{COOKIE}={token}; HttpOnly; SameSite=Strict; Path=/".encode()
            message["headers"] = [*message.get("headers", []), (b"set-cookie", cookie)]
        await send(message)

    return sending
