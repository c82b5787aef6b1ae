"""GTP server of this library in a test: commands and responses."""

from __future__ import annotations

from typing import Any

import agents
from agents import AthenanBot
from athenan_spiel.games import load_game
from athenan_spiel.protocols.gtp_server import GtpServer


def serving(spec: str = "connect_four", word: str = "alphabeta@2i", **options: Any) -> GtpServer:
    bots = [agents.make_bot(word, load_game(spec), player) for player in (0, 1)]
    agent = bots[0].agent if isinstance(bots[0], AthenanBot) else None
    players = bots if agent is None else [bots[0]] * 2
    return GtpServer(load_game(spec), players, agent, version="1.2", **options)


def said(server: GtpServer, *lines: str) -> list[str]:
    """The answers to some lines, without the empty lines at their ends."""
    answers = ["".join(server.answers(line + "\n")) for line in lines]
    assert all(answer.endswith("\n\n") and "\n\n" not in answer[:-2] for answer in answers if answer)
    return [answer.removesuffix("\n\n") for answer in answers]


def analysed(server: GtpServer, line: str, lines: int = 1) -> list[str]:
    """The parts of the response to an analysis that the next command ends after this number of lines."""
    seen: list[str] = []
    for part in server.answers(line, lambda: len(seen) > lines):
        seen.append(part)
    return seen[:-1] if seen[-1] == "\n" else seen
