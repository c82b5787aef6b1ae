"""Whatever a handler raises, a visitor gets a proper response, and no more of the error than that there was one."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from athenan_spiel.web.error_responses import ErrorResponses


def ask(error: Exception | None, *, kind: str = "http", starts: bool = False, path: str = "/") -> list[dict[str, Any]]:
    """What is sent where the application raises, after it has begun to answer if it `starts`."""
    sent: list[dict[str, Any]] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        if starts:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        if error is not None:
            raise error

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {}

    asyncio.run(ErrorResponses(application)({"type": kind, "path": path}, receive, send))
    return sent


@pytest.mark.parametrize(
    "error", [ValueError("a secret"), RecursionError(), KeyError("a secret"), OSError(5, "a secret")]
)
def test_an_error_is_a_plain_page(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    start, body = ask(error)
    assert start["status"] == 500
    assert (b"content-type", b"text/plain; charset=utf-8") in start["headers"]
    assert b"secret" not in body["body"]
    assert b"Traceback" not in body["body"]
    assert type(error).__name__ in caplog.text, "the server's log says what happened"


def test_a_websocket_is_closed() -> None:
    assert ask(ValueError("a secret"), kind="websocket") == [
        {"type": "websocket.close", "code": 1011, "reason": "this page failed; the terminal of the server shows why"}
    ]


def test_a_response_that_has_begun_is_not_begun_again() -> None:
    assert [message["type"] for message in ask(ValueError(), starts=True)] == ["http.response.start"]


@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_an_address_with_a_nul_is_refused(kind: str) -> None:
    message = ask(AssertionError("it is not asked"), kind=kind, path="/run/\0")[0]
    assert message.get("status", message.get("code")) in (400, 1008)


def test_what_is_no_request_goes_through() -> None:
    with pytest.raises(ValueError, match="at start"):
        ask(ValueError("at start"), kind="lifespan")
