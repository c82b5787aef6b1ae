"""Client for a program that speaks GTP, the Go Text Protocol.

The protocol is that of Farnebäck, *Specification of the Go Text Protocol, version 2, draft 2* (2002): a command is a
line; a response begins with `=` or `?` and ends with an empty line. In addition to the guarantees of `program`:

1. Commands are numbered, and a response with another number is ignored. If the first response has no number, later
   commands have none. No space is required between the sign or the number and the text.
2. Output between responses is ignored.
3. A response is awaited until its deadline, whatever else the program writes, and has at most `LONGEST_ANSWER` lines.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Sequence

from athenan_spiel.errors import ProgramError, ProgramRefusalError, ProgramTimeoutError, printable, shown
from athenan_spiel.protocols.program import Program

LONGEST_ANSWER = 2_000
"""Maximum number of lines in a response."""
PROBE = "protocol_version"
"""First command, known to every GTP program."""
_HEAD = re.compile(r"(?P<sign>[=?])(?P<word>(?:[a-z0-9]\S*)?)(?P<rest>(?:\s.*)?)$", re.ASCII | re.IGNORECASE)
_NUMBER = re.compile(r"\d{0,9}", re.ASCII)
_VERSION = re.compile(r"[0-9.]{1,9}", re.ASCII)


class Gtp:
    """Running GTP program; the module's docstring lists its guarantees.

    Args:
        command: program and its options.
        seconds: maximum time for the first response.

    Attributes:
        commands: commands that the program lists.

    Raises:
        ProgramError: it cannot be started, or doesn't answer by GTP.
    """

    def __init__(self, command: Sequence[str], seconds: float) -> None:
        self._program = Program(command)
        self._command_count = 0
        self._numbered = True
        try:
            self._greet(seconds)
            self.commands = frozenset(self._known(seconds))
        except BaseException:
            self._program.close()
            raise

    @property
    def program_name(self) -> str:
        """Name of the program's file."""
        return self._program.name

    def ask(self, command: str, seconds: float) -> str:
        """Returns the lines of the response to `command`, without sign and number.

        Args:
            command: one line.
            seconds: maximum waiting time.

        Raises:
            ProgramRefusalError: the response is an error.
            ProgramTimeoutError: there is no response in time.
            ProgramError: the program has ended, or the response is too long.
        """
        self._command_count += 1
        number = str(self._command_count) if self._numbered else ""
        self._program.send(f"{number} {command}".strip())
        until = time.monotonic() + seconds
        try:
            sign, lines = self._answered(number, until)
        except ProgramTimeoutError:
            problem = f"has not answered {shown(command)} within {seconds:.3g} s"
            raise self._program.error(problem, late=True) from None
        text = "\n".join(lines).strip()
        if sign == "?":
            told = self._program.error(f"answers {shown(command)} with an error: {shown(text)}")
            raise ProgramRefusalError(str(told))
        return text

    def error(self, problem: str) -> ProgramError:
        """Returns an error that names the program; `problem` follows the name."""
        return self._program.error(problem)

    def close(self) -> None:
        """Ends the program."""
        with contextlib.suppress(ProgramError):  # it is ended below in any case
            self._program.send("quit")
        self._program.close()

    def _greet(self, seconds: float) -> None:
        """Asks for the version, with a number and, if that fails, without.

        Raises:
            ProgramError: the program doesn't answer, or answers something else.
        """
        try:
            version = self.ask(PROBE, seconds)
            if not self._numbered and version.startswith("1 "):  # Edax repeats the number after a space
                version = self.ask(PROBE, seconds)
        except ProgramRefusalError:
            if self._numbered:
                raise
            version = self.ask(PROBE, seconds)
        except ProgramTimeoutError as late:
            raise ProgramTimeoutError(f"{late}: does it speak GTP, and in this mode?") from None
        if not _VERSION.fullmatch(version):
            raise self.error(f"gives {shown(version)} for the version of GTP: does it speak another protocol?")

    def _known(self, seconds: float) -> list[str]:
        try:
            return self.ask("list_commands", seconds).split()
        except ProgramRefusalError:
            return []

    def _answered(self, number: str, until: float) -> tuple[str, list[str]]:
        """Returns the sign and the lines of the response with this number.

        Raises:
            ProgramError: a response has more than `LONGEST_ANSWER` lines.
        """
        while True:
            if (head := _HEAD.match(self._line(until))) is None:
                continue
            if self._command_count == 1 and self._numbered and _is_unnumbered(head):
                self._numbered, number = False, ""
            text = _text_of(head, number)
            if text is None and not _NUMBER.fullmatch(head["word"]):
                continue  # not the start of a response
            lines = [printable(text or "")]
            while line := self._line(until).rstrip():
                if len(lines) == LONGEST_ANSWER:
                    raise self.error(f"answers more than {LONGEST_ANSWER:,} lines")
                lines.append(printable(line))
            if text is not None:
                return head["sign"], lines

    def _line(self, until: float) -> str:
        """Returns the next line; reading the clock first keeps guarantee 3 even if a line is waiting."""
        left = until - time.monotonic()
        if left <= 0:
            raise ProgramTimeoutError
        return self._program.line(left)


def _is_unnumbered(head: re.Match[str]) -> bool:
    """Returns whether the response to command 1 has no number.

    Without a space after the sign it has none if it is an error in words, or a version other than 1.
    """
    word = head["word"]
    if head["sign"] == "?":
        return not word[:1].isdigit()
    is_version = _VERSION.fullmatch(word) and not head["rest"].strip()
    return not word or bool(is_version and not word.startswith("1"))


def _text_of(head: re.Match[str], number: str) -> str | None:
    """Returns the text of a response's first line; None if it answers another command.

    Number and text may be joined, as in `=2D4`. Digits followed by a space are a number. Joined digits alone, as in
    `=12` for command 1, are number and text, since no later command has been sent.

    Args:
        number: number of the command; empty if commands have none.
    """
    word, rest = head["word"], head["rest"]
    joined = word.startswith(number) and not (_NUMBER.fullmatch(word) and rest.strip())
    if word != number and not joined:
        return None
    return (word.removeprefix(number) + rest).strip()
