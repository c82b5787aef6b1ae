"""A person at the terminal: what is shown, what is understood, and how to leave."""

from __future__ import annotations

import pyspiel
import pytest

import agents
from agents.human import MAX_LISTED_MOVES, Command, HumanBot, in_columns
from athenan_spiel.errors import AthenanError, MatchAbandonedError
from athenan_spiel.games.moves import move_called
from athenan_spiel.play.match import play_match

TIC_TAC_TOE = pyspiel.load_game("tic_tac_toe")


class Terminal:
    """A person who types given lines, and what the screen has shown."""

    def __init__(self, *lines: str) -> None:
        self.lines = list(lines)
        self.shown: list[str] = []

    def ask(self, prompt: str) -> str:
        self.shown.append(prompt)
        if not self.lines:
            raise EOFError
        return self.lines.pop(0)

    def bot(self, width: int = 80) -> HumanBot:
        return HumanBot(self.ask, lambda text: self.shown.append(str(text)), width=width)

    @property
    def screen(self) -> str:
        return "\n".join(self.shown)


def test_a_person_sees_the_board_and_the_moves_and_types_one() -> None:
    terminal = Terminal("x(1,1)")
    assert terminal.bot().step(TIC_TAC_TOE.new_initial_state()) == 4
    assert "...\n...\n..." in terminal.screen
    assert "4: x(1,1)" in terminal.screen


@pytest.mark.parametrize("line", ["8", " 8 ", "X(2,2)", "x(2,2)  "])
def test_a_move_has_a_name_and_a_number(line: str) -> None:
    assert Terminal(line).bot().step(TIC_TAC_TOE.new_initial_state()) == 8


def test_names_come_before_numbers_and_capitals_may_matter() -> None:
    names = {0: "1", 1: "0", 2: "b3", 3: "B3", 7: "Nf3"}
    assert [move_called(answer, names) for answer in ("1", "b3", "B3", "7", "nF3")] == [0, 2, 3, 7, 7]
    assert [move_called(answer, names) for answer in ("5", "", "x", "-1", "²", "٧", "7" * 5000)] == [None] * 7


def test_wrong_input_is_answered_in_a_line_and_asked_again() -> None:
    terminal = Terminal("x(1,3)", "4", "", "5")
    state = TIC_TAC_TOE.new_initial_state()
    state.apply_action(4)
    assert terminal.bot().step(state) == 5
    refusals = [text for text in terminal.shown if "is not a legal move" in text]
    assert [text.count("\n") for text in refusals] == [0, 0, 0]
    assert refusals[1] == "'4' is not a legal move (`?` lists them, `quit` ends)"
    assert "did you mean" in refusals[0]


def test_help_lists_the_moves() -> None:
    game = pyspiel.load_game("hex")
    terminal = Terminal("?", "0")
    assert terminal.bot().step(game.new_initial_state()) == 0
    first, _, rest = terminal.screen.partition("Your move: ")
    assert game.num_distinct_actions() > MAX_LISTED_MOVES
    assert "121 legal moves: `?` lists them" in first
    assert "60: " not in first
    assert "60: " in rest


@pytest.mark.parametrize("width", [1, 20, 80])
def test_columns_fit_the_terminal_and_lose_nothing(width: int) -> None:
    names = {action: f"move{action}" for action in range(30)}
    lines = in_columns(names, width).splitlines()
    assert sorted("  ".join(lines).replace(": ", ":").split()) == sorted(f"{a}:move{a}" for a in names)
    assert max(map(len, lines)) <= max(width, len("29: move29"))


@pytest.mark.parametrize(
    ("lines", "reason"), [(("quit",), "by quit"), (("QUIT",), "by quit"), ((), "end of the input")]
)
def test_a_person_may_leave(lines: tuple[str, ...], reason: str) -> None:
    bots = [Terminal(*lines).bot(), pyspiel.make_uniform_random_bot(1, 0)]
    with pytest.raises(MatchAbandonedError, match=reason) as error:
        play_match(TIC_TAC_TOE, bots)
    assert isinstance(error.value, AthenanError)


def test_a_person_plays_a_match_and_is_told_the_other_moves() -> None:
    terminal = Terminal("0", "1", "2")
    other = agents.load_bot("fixed_action_preference", TIC_TAC_TOE, 1, {"actions": "3:4"})
    assert pyspiel.evaluate_bots(TIC_TAC_TOE.new_initial_state(), [terminal.bot(), other], 0) == [1.0, -1.0]
    assert "The other player plays o(1,0)." in terminal.screen


def test_a_command_is_run_and_a_move_of_that_name_comes_first() -> None:
    ran: list[list[int]] = []

    def count(state: pyspiel.State) -> str:
        ran.append(state.history())
        return f"{len(ran)} so far"

    commands = [Command("count", "counts", count), Command("x(1,1)", "is never run", count)]
    terminal = Terminal("Count", "cuont", "count", "?", "x(1,1)")
    bot = HumanBot(terminal.ask, lambda text: terminal.shown.append(str(text)), commands=commands)
    assert bot.step(TIC_TAC_TOE.new_initial_state()) == 4
    assert ran == [[], []]
    assert "1 so far\n" in terminal.screen
    assert "2 so far\n" in terminal.screen
    assert "'cuont' is not a legal move: did you mean 'count'?" in terminal.screen
    assert "`?` lists the legal moves, `count` counts," in " ".join(terminal.screen.split())


def test_a_move_may_even_be_called_quit() -> None:
    class Named:
        def current_player(self) -> int:
            return 0

        def num_players(self) -> int:
            return 2

        def is_terminal(self) -> bool:
            return False

        def legal_actions(self) -> list[int]:
            return [3, 5]

        def action_to_string(self, player: int, action: int) -> str:
            return {3: "quit", 5: "undo"}[action]

    assert Terminal("quit").bot().step(Named()) == 3
    assert Terminal("undo").bot().step(Named()) == 5
    with pytest.raises(MatchAbandonedError):
        Terminal("Quit").bot().step(Named())


def test_what_is_no_text_is_asked_for_again() -> None:
    terminal = Terminal("4")
    failures = [UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")] * 2

    def ask(prompt: str) -> str:
        if failures:
            raise failures.pop()
        return terminal.ask(prompt)

    bot = HumanBot(ask, lambda text: terminal.shown.append(str(text)))
    assert bot.step(TIC_TAC_TOE.new_initial_state()) == 4
    assert terminal.shown.count("input is not text: type a move, or `?`") == 2


def test_a_line_of_any_length_is_refused_in_a_short_one() -> None:
    terminal = Terminal("x" * 10**6, "9" * 5000, "4")
    assert terminal.bot().step(TIC_TAC_TOE.new_initial_state()) == 4
    assert max(map(len, terminal.shown)) < 400


def test_what_is_told_of_the_others_and_asked_may_be_said() -> None:
    terminal = Terminal("4")
    remarks = iter(["It plays.", None])
    bot = HumanBot(
        terminal.ask,
        lambda text: terminal.shown.append(str(text)),
        prompt=lambda player: f"Player {player}: ",
        remark=lambda state, action: next(remarks),
    )
    state = TIC_TAC_TOE.new_initial_state()
    bot.inform_action(state, 0, 0)
    bot.inform_action(state, 0, 1)
    assert bot.step(state) == 4
    assert terminal.shown[0] == "It plays."
    assert terminal.shown[-1] == "Player 0: "
    assert len(terminal.shown) == 4


def test_a_person_is_a_harmless_bot() -> None:
    bot = Terminal().bot()
    bot.restart()
    bot.restart_at(TIC_TAC_TOE.new_initial_state())
    bot.inform_actions(TIC_TAC_TOE.new_initial_state(), [0, 0])
    assert not bot.provides_policy()
    assert not bot.is_clonable()
