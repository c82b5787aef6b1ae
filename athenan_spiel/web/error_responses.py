"""Middleware that turns every error of a request into a short response.

1. A request that no page can answer, such as a path with a NUL character, gets status 400.
2. An exception in a handler becomes a plain page with status 500. The traceback is logged, never sent.
3. A websocket whose handler fails is closed.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

POLICY_VIOLATION, INTERNAL_ERROR = 1008, 1011
"""Status codes of a closed websocket."""
LOG = logging.getLogger(__name__)


class ErrorResponses:
    """Outermost ASGI middleware.

    Args:
        application: application behind it.
    """

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answers a request, whatever happens in the application."""
        if scope["type"] not in ("http", "websocket"):
            await self._application(scope, receive, send)
            return
        is_started = False

        async def watched(message: Message) -> None:
            nonlocal is_started
            is_started = True
            await send(message)

        if "\0" in scope.get("path", ""):
            await respond(scope, send, 400, "an address has no NUL character")
            return
        try:
            await self._application(scope, receive, watched)
        except Exception:
            LOG.exception("a request for %r failed", scope.get("path", "")[:200])
            if scope["type"] == "websocket" or not is_started:
                await respond(scope, send, 500, "this page failed; the terminal of the server shows why")


async def respond(scope: Message, send: Send, status: int, reason: str) -> None:
    """Sends a plain page, or closes a websocket.

    Args:
        status: HTTP status; 400 and 403 refuse a websocket.
        reason: one line for the visitor.
    """
    if scope["type"] == "websocket":
        code = INTERNAL_ERROR if status >= 500 else POLICY_VIOLATION
        await send({"type": "websocket.close", "code": code, "reason": reason[:100]})
        return
    headers = [(b"content-type", b"text/plain; charset=utf-8")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": f"{status}: {reason}\n".encode("utf-8", "replace")})
