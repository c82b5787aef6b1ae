"""A program that speaks GTP, the Go Text Protocol, asked in its language: what is asked, and what it answers.

The protocol is that of Farnebäck, *Specification of the Go Text Protocol, version 2, draft 2* (2002): a command is a
line, an answer begins with `=` or `?` and ends with an empty line. Its promises, beside those of `program`:

1. Commands are numbered, and an answer with another number is none to the command. A program whose first answer has no
   number is asked without from then on. No space is needed between the sign or the number and the text.
2. What the program writes between answers is passed over.
3. An answer is waited for until its deadline, however much else is said meanwhile, and is at most `LONGEST_ANSWER`
   lines.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Sequence

from athenan_spiel.errors import ProgramError, ProgramRefusalError, ProgramTimeoutError, printable, shown
from athenan_spiel.protocols.program import Program

LONGEST_ANSWER = 2_000
"""Lines of an answer."""
PROBE = "protocol_version"
"""The first command, which every program knows that speaks GTP."""
_HEAD = re.compile(r"(?P<sign>[=?])(?P<word>(?:[a-z0-9]\S*)?)(?P<rest>(?:\s.*)?)$", re.ASCII | re.IGNORECASE)
_NUMBER = re.compile(r"\d{0,9}", re.ASCII)
_VERSION = re.compile(r"[0-9.]{1,9}", re.ASCII)


class Gtp:
    """A program that has been started and has said that it speaks GTP. The file's docstring numbers its promises.

    Args:
        command: the program's file or name, then its options.
        seconds: how long it may take to answer the first command.

    Attributes:
        commands: those that it knows, as far as it tells.

    Raises:
        ProgramError: it cannot be started, or does not answer as GTP has it.
    """

    def __init__(self, command: Sequence[str], seconds: float) -> None:
        self._program = Program(command)
        self._asked = 0
        self._numbered = True
        try:
            self._greet(seconds)
            self.commands = frozenset(self._known(seconds))
        except BaseException:
            self._program.close()
            raise

    @property
    def program_name(self) -> str:
        """The name of its file."""
        return self._program.name

    def ask(self, command: str, seconds: float) -> str:
        """What the program answers to `command`: the lines of it, without the sign and the number.

        Args:
            command: a line.
            seconds: the longest to wait.

        Raises:
            ProgramRefusalError: it answers that it cannot do this.
            ProgramTimeoutError: it does not answer in that time.
            ProgramError: it has ended, or its answer does not.
        """
        self._asked += 1
        number = str(self._asked) if self._numbered else ""
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
        """What is wrong with the program, as an error to be raised; `problem` follows its name."""
        return self._program.error(problem)

    def close(self) -> None:
        """End the program."""
        with contextlib.suppress(ProgramError):  # it is ended the other way then
            self._program.send("quit")
        self._program.close()

    def _greet(self, seconds: float) -> None:
        """Ask for the version, with a number and, if that is not understood, without.

        Raises:
            ProgramError: the program does not answer, or says something else.
        """
        try:
            version = self.ask(PROBE, seconds)
            if not self._numbered and version.startswith("1 "):  # Edax repeats the number, but behind a space
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
        """The sign and the lines of the answer of that number.

        Raises:
            ProgramError: an answer has more than `LONGEST_ANSWER` lines.
        """
        while True:
            if (head := _HEAD.match(self._line(until))) is None:
                continue
            if self._asked == 1 and self._numbered and _is_unnumbered(head):
                self._numbered, number = False, ""
            text = _text_of(head, number)
            if text is None and not _NUMBER.fullmatch(head["word"]):
                continue  # a line that no answer begins with
            lines = [printable(text or "")]
            while line := self._line(until).rstrip():
                if len(lines) == LONGEST_ANSWER:
                    raise self.error(f"answers more than {LONGEST_ANSWER:,} lines")
                lines.append(printable(line))
            if text is not None:
                return head["sign"], lines

    def _line(self, until: float) -> str:
        """The next line; promise 3 holds as the clock is asked before a line that is there already."""
        left = until - time.monotonic()
        if left <= 0:
            raise ProgramTimeoutError
        return self._program.line(left)


def _is_unnumbered(head: re.Match[str]) -> bool:
    """Whether the first line of the answer to command 1 has no number.

    Without a space after the sign, it has none if it is an error in words, or a version other than 1.
    """
    word = head["word"]
    if head["sign"] == "?":
        return not word[:1].isdigit()
    is_version = _VERSION.fullmatch(word) and not head["rest"].strip()
    return not word or bool(is_version and not word.startswith("1"))


def _text_of(head: re.Match[str], number: str) -> str | None:
    """The text of the first line of an answer; None if it answers another command.

    The number and the text may be joined, as in `=2D4`. Digits that a space follows are a number, and joined digits
    alone, as in `=12` for command 1, are its number and its text, since a later command is not sent yet.

    Args:
        number: of the command; empty where the program takes no numbers.
    """
    word, rest = head["word"], head["rest"]
    joined = word.startswith(number) and not (_NUMBER.fullmatch(word) and rest.strip())
    if word != number and not joined:
        return None
    return (word.removeprefix(number) + rest).strip()
