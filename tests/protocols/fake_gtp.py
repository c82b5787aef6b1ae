"""An engine that speaks GTP, well or badly: run as a program by tests, with the game's string and how it behaves.

It plays the first legal move by number, knows nothing of the library but its vertices, and counts what it was told on
standard error. Behaviours, several of which may be given:

    unnumbered    takes no numbers, and answers them with an error
    apart         writes the number behind a space, as Edax does
    joined        writes no space after the sign and the number
    chatty        writes lines between and before its answers
    still         does not answer the first command      hang=N     does not answer its N-th genmove
    crash=N       ends at its N-th genmove               dies       ends at its start, with a word on standard error
    nonsense=N    answers its N-th genmove with nonsense illegal=N  plays elsewhere at its N-th genmove
    resign=N      resigns at its N-th genmove            endless=N  answers its N-th genmove without an end
    babble        writes without an end                  uci        speaks another protocol
    stays         does not end when told to              refuses=X  answers the command X with an error
    lacks=X       does not know the command X            knows=X    knows the command X, too
    log=FILE      appends each command to the file
    slow=S        takes S seconds a genmove              version=V  says this for the version of GTP
"""

from __future__ import annotations

import sys
import time

import pyspiel

from athenan_spiel.games import load_game
from athenan_spiel.protocols.vertices import vertices_of

COMMANDS = (
    "protocol_version name version known_command list_commands quit boardsize clear_board komi play genmove undo "
    "time_settings time_left set_free_handicap"
)


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


class Fake:
    def __init__(self, game: pyspiel.Game, habits: dict[str, str]) -> None:
        self.habits = habits
        self.vertices = vertices_of(game)
        self.game = game
        self.state = game.new_initial_state()
        self.moves = 0
        self.number = ""

    def known(self) -> list[str]:
        commands = [*COMMANDS.split(), *self.habits.get("knows", "").split()]
        return [command for command in commands if command != self.habits.get("lacks")]

    def answer(self, name: str, words: list[str]) -> str:
        if name not in self.known() or name == self.habits.get("refuses"):
            raise ValueError("unknown command" if name not in self.known() else "no")
        if name == "protocol_version":
            return self.habits.get("version", "2")
        if name == "list_commands":
            return "\n".join(self.known())
        if name == "clear_board":
            self.state = self.game.new_initial_state()
        if name == "undo":
            past = self.state.history()[:-1]
            self.state = self.game.new_initial_state()
            for action in past:
                self.state.apply_action(action)
        if name == "play":
            action = self.vertices.action(self.state, words[1])
            if action is None or self.vertices.colour(self.state.current_player()) != words[0]:
                raise ValueError("illegal move")
            self.state.apply_action(action)
        return self.genmove() if name == "genmove" else ""

    def genmove(self) -> str:
        self.moves += 1
        now = {habit: int(value) for habit, value in self.habits.items() if value.isdigit()}
        if now.get("crash") == self.moves:
            sys.exit("out of memory")
        if now.get("hang") == self.moves:
            time.sleep(600)
        if now.get("nonsense") == self.moves:
            return "bestmove e2e4\nponder"
        if now.get("illegal") == self.moves:
            return "T19"
        if now.get("resign") == self.moves:
            return "resign"
        if now.get("endless") == self.moves:
            say(f"={self.number} well")
            while True:
                say("and so on")
        time.sleep(float(self.habits.get("slow", 0)))
        action = self.state.legal_actions()[0]
        vertex = self.vertices.vertex(self.state, action)
        self.state.apply_action(action)
        return vertex.lower()


def main() -> None:
    game, *words = sys.argv[1:]
    habits = dict(word.partition("=")[::2] for word in words)
    if "dies" in habits:
        sys.exit("no licence")
    while "babble" in habits:
        say("info depth 1")
    fake = Fake(load_game(game), habits)
    after = "" if "joined" in habits else " "
    for line in sys.stdin:
        if "log" in habits:
            with open(habits["log"], "a", encoding="utf-8") as log:
                log.write(line)
        number, _, command = line.strip().partition(" ") if line[:1].isdigit() else ("", "", line.strip())
        if "unnumbered" in habits and number:
            say(f"?{after}unknown command\n")
            continue
        if "still" in habits:
            continue
        if "uci" in habits:
            say(f"Unknown command: {line.strip()}")
            continue
        if "chatty" in habits and fake.number:
            say("thinking...\n= it goes well\n\n=9999 D4\n")
        if command == "quit":
            time.sleep(600 if "stays" in habits else 0)
            return
        fake.number = number
        try:
            name, *arguments = command.split()
            space = " " if "apart" in habits else ""
            say(f"={space}{number}{after}{fake.answer(name, arguments)}\n")
        except ValueError as error:
            say(f"?{number}{after}{error}\n")
    time.sleep(600 if "stays" in habits else 0)


if __name__ == "__main__":
    main()
