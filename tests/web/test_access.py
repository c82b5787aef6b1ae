"""Access control: this machine's browser, or visitors with the token; never another site's page."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from athenan_spiel.web.access import COOKIE, AccessControl

TOKEN = "a-token-that-nobody-guesses"


def ask(
    token: str | None, *headers: tuple[str, str], query: str = "", kind: str = "http"
) -> tuple[int | None, list[dict[str, Any]]]:
    """The status of the answer, None where a websocket is refused; and all that was sent."""
    sent: list[dict[str, Any]] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"x", b"y")]})
        await send({"type": "http.response.body", "body": b"in"})

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {}

    scope = {
        "type": kind,
        "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers],
        "query_string": query.encode("latin-1"),
    }
    asyncio.run(AccessControl(application, token)(scope, receive, send))
    return sent[0].get("status"), sent


@pytest.mark.parametrize("host", ["localhost:8000", "127.0.0.1:8000", "[::1]:8000", "LOCALHOST"])
def test_this_machine_is_let_in_without_a_token(host: str) -> None:
    assert ask(None, ("host", host))[0] == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "192.168.1.5:8000", "", "[", "a b", "ö"])
def test_another_name_is_refused_without_a_token(host: str) -> None:
    """A foreign name that resolves to this machine is refused (DNS rebinding)."""
    assert ask(None, ("host", host))[0] == 403
    assert ask(None, ("host", host), kind="websocket")[0] is None


@pytest.mark.parametrize("token", [None, TOKEN])
@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_a_page_of_another_site_is_refused_whatever_it_brings(token: str | None, kind: str) -> None:
    headers = [("host", "localhost:8000"), ("cookie", f"{COOKIE}={TOKEN}")]
    for origin in ("http://evil.example", "http://localhost:9000", "null", "http://[", "[", ""):
        assert ask(token, *headers, ("origin", origin), query=f"token={TOKEN}", kind=kind)[0] != 200
    assert ask(token, *headers, ("origin", "http://localhost:8000"), kind=kind)[0] == 200


def test_who_brings_the_token_has_it_in_a_cookie_from_then_on() -> None:
    status, sent = ask(TOKEN, ("host", "box.example:8000"), query=f"token={TOKEN}")
    assert status == 200
    cookie = dict(sent[0]["headers"])[b"set-cookie"].decode()
    assert cookie == f"{COOKIE}={TOKEN}; HttpOnly; SameSite=Strict; Path=/"
    status, sent = ask(TOKEN, ("host", "box.example:8000"), ("cookie", f"other=1; {COOKIE}={TOKEN}"))
    assert status == 200
    assert b"set-cookie" not in dict(sent[0]["headers"])


@pytest.mark.parametrize("query", ["", "token=", "token=another", "token=%C3%B6", f"Token={TOKEN}", "token"])
@pytest.mark.parametrize("cookie", ["", f"{COOKIE}=another", f"{COOKIE}", "\x01;;=;", f'{COOKIE}="ö"'])
def test_who_does_not_is_refused_even_on_this_machine(query: str, cookie: str) -> None:
    headers = [("host", "localhost:8000"), ("cookie", cookie)]
    status, sent = ask(TOKEN, *headers, query=query)
    assert status == 403
    assert b"token printed in the terminal" in sent[1]["body"]
    assert ask(TOKEN, *headers, query=query, kind="websocket")[0] is None


def test_a_query_of_countless_fields_is_refused_not_a_fault() -> None:
    assert ask(TOKEN, ("host", "localhost"), query="&".join(f"a{i}=1" for i in range(100)))[0] == 403


def test_what_is_no_request_goes_through() -> None:
    assert ask(TOKEN, kind="lifespan")[0] == 200
