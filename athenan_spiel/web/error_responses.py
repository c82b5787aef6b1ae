"""Turns every error of a request into a response that says no more than a visitor needs.

1. A request that no page can answer, such as a path with a NUL character, is refused with status 400.
2. Any exception of a handler becomes a plain page with status 500. Its traceback is logged and never sent.
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
"""Status codes of a websocket that is closed."""
LOG = logging.getLogger(__name__)


class ErrorResponses:
    """ASGI middleware around all others.

    Args:
        application: What is asked.
    """

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request, whatever happens in the application."""
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
    """Send a plain page, or close a websocket.

    Args:
        status: HTTP status; of a websocket 403 and 400 mean that the request was refused.
        reason: One line for the visitor.
    """
    if scope["type"] == "websocket":
        code = INTERNAL_ERROR if status >= 500 else POLICY_VIOLATION
        await send({"type": "websocket.close", "code": code, "reason": reason[:100]})
        return
    headers = [(b"content-type", b"text/plain; charset=utf-8")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": f"{status}: {reason}\n".encode("utf-8", "replace")})
