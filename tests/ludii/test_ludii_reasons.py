"""Why a game is not played here is data: the reasons of an error, and those that a row of the sweep keeps."""

from __future__ import annotations

import pickle

import pytest
from ludii_fake import FakeTransport

from ludii_bridge import LudiiError, LudiiGame, errors, verdicts
from ludii_bridge.catalogue import Source
from ludii_bridge.details import details
from ludii_bridge.errors import is_of_a_kind, joined, separated
from ludii_bridge.jvm import OUT_OF_MEMORY
from ludii_bridge.verdicts import Verdict


def test_a_refusal_has_its_reasons_one_by_one(fake: FakeTransport) -> None:
    with pytest.raises(LudiiError) as raised:
        LudiiGame({"game": "Dice [Roll]"})
    error = raised.value
    assert error.reasons == (errors.CHANCE,)
    assert str(error) == f"{error.game} {error.problem}"
    assert error.problem == f"is not supported: {errors.CHANCE}"
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.game, again.reasons) == (str(error), error.game, (errors.CHANCE,))


def test_an_error_of_no_game_is_its_message() -> None:
    error = LudiiError("Java is missing")
    assert (error.game, error.problem, error.reasons) == ("", "Java is missing", ())


def test_reasons_that_were_joined_are_separated_again() -> None:
    kinds = [errors.SIMULATION, errors.CHANCE, errors.HIDDEN]
    for given in ([errors.SEVERAL], kinds, [*kinds, "its piece 'Dog' is of player 5, of 2"]):
        assert separated(joined(given)) == given
    assert separated("cannot be loaded: a; b") == ["cannot be loaded: a; b"]


def test_games_of_a_kind_are_not_those_that_failed() -> None:
    of_a_kind = [errors.CHANCE, errors.SEVERAL, joined([errors.HIDDEN, errors.CHANCE])]
    failed = ["it breaks law 3", "it is broken", "it has chances", "its piece 'Dog' is of player 5, of 2"]
    assert all(Verdict("A", reason).is_unsuitable for reason in of_a_kind)
    assert not any(Verdict("A", reason).is_unsuitable for reason in failed)
    assert not is_of_a_kind("it is for 4 players, not one or two")


def test_every_published_reason_is_a_kind_or_a_failure_of_one_game() -> None:
    unsuitable = {reason for row in verdicts.read() if row.is_unsuitable for reason in separated(row.reason)}
    assert all(map(is_of_a_kind, unsuitable))
    assert sum(bool(row.reason) and not row.is_unsuitable for row in verdicts.read()) == 1


def test_details_say_what_is_wrong_with_a_game_or_with_java(
    fake: FakeTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert details("Broken").reasons == ("it cannot be loaded: a bracket is missing",)

    def full(source: Source, options: object) -> None:
        raise LudiiError(OUT_OF_MEMORY)

    monkeypatch.setattr(fake, "load", full)
    assert details("Broken").reasons == (OUT_OF_MEMORY,)
