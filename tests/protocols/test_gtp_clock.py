"""How long a move may take by what GTP says of the clock."""

from __future__ import annotations

import pytest

from athenan_spiel.protocols.gtp_clock import LEAST, MARGIN, MOVES_LEFT, SHARE, GtpClock


def test_without_a_word_there_is_no_limit() -> None:
    clock = GtpClock()
    clock.spend("b", 100)
    assert clock.seconds("b") is None
    clock.limit(10, 5, 0)  # a period without moves
    assert clock.seconds("b") is None


def test_a_time_for_all_moves_is_never_used_up() -> None:
    clock = GtpClock()
    clock.limit(60, 0, 0)
    assert clock.seconds("b") == pytest.approx(SHARE * 60 / MOVES_LEFT - MARGIN)
    used = 0.0
    for _ in range(200):
        seconds = clock.seconds("b")
        assert seconds is not None
        clock.spend("b", seconds)
        used += seconds
    assert used < 60
    assert clock.seconds("w") == pytest.approx(SHARE * 60 / MOVES_LEFT - MARGIN)
    clock.begin()
    assert clock.seconds("b") == clock.seconds("w")


def test_seconds_a_move() -> None:
    clock = GtpClock()
    clock.limit(0, 2, 1)
    for _ in range(3):
        assert clock.seconds("b") == pytest.approx(SHARE * 2 - MARGIN)
        clock.spend("b", 1.9)


def test_periods_of_moves() -> None:
    clock = GtpClock()
    clock.limit(10, 30, 10)
    assert clock.seconds("b") == pytest.approx(SHARE * 3 - MARGIN)  # as many as in a period to come
    clock.spend("b", 11)
    assert clock.seconds("b") == pytest.approx(SHARE * 3 - MARGIN)
    clock.spend("b", 12)
    assert clock.seconds("b") == pytest.approx(SHARE * 18 / 9 - MARGIN)
    for _ in range(9):
        clock.spend("b", 1)
    assert clock.seconds("b") == pytest.approx(SHARE * 3 - MARGIN)


def test_what_the_front_end_says_comes_first() -> None:
    clock = GtpClock()
    clock.limit(60, 0, 0)
    clock.tell("b", 20, 0)
    assert clock.seconds("b") == pytest.approx(SHARE * 1 - MARGIN)
    clock.tell("b", 4, 2)
    assert clock.seconds("b") == pytest.approx(SHARE * 2 - MARGIN)
    clock.tell("b", 0, 0)
    assert clock.seconds("b") == LEAST
    other = GtpClock()
    other.tell("w", 2, 1)
    assert other.seconds("w") == pytest.approx(SHARE * 2 - MARGIN)
    assert other.seconds("b") is None
