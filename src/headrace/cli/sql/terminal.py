"""Reads statements from a terminal: lines with editing, completion and history."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING

from rich.console import Console

from headrace.cli.sql.completion import DELIMITERS, completions
from headrace.cli.sql.history import HistoryFile, one_line
from headrace.cli.sql.shell import COMMANDS, SqlShell, ends_shell
from headrace.sql.dialect.splitting import split

if TYPE_CHECKING:
    from headrace.sql.catalog.manager import CatalogManager

PROMPT = "headrace> "
CONTINUED = "       -> "


def _import_readline() -> ModuleType | None:
    """Return the module that edits lines; None: this Python was built without it."""
    try:
        import readline
    except ImportError:
        return None
    return readline


class Terminal:
    """The loop of a shell: reads statements up to a semicolon, and has them run."""

    def __init__(
        self,
        shell: SqlShell,
        catalogs: CatalogManager,
        history: HistoryFile,
        out: Console,
        read_line: Callable[[str], str] = input,
    ) -> None:
        self._shell = shell
        self._catalogs = catalogs
        self._history = history
        self._out = out
        self._read_line = read_line
        self._readline = _import_readline()
        self._pending = ""
        self._found: list[str] = []

    def run(self) -> None:
        """Read and run statements up to QUIT or the end of the input."""
        self._set_up_editing()
        while True:
            try:
                line = self._read_line(CONTINUED if self._pending else PROMPT)
            except KeyboardInterrupt:
                self._pending = ""
                self._out.print()
                continue
            except EOFError:
                self._out.print()
                return
            try:
                if not self._take(line):
                    return
            except KeyboardInterrupt:
                self._out.print("The statement was ended.", highlight=False)

    def _take(self, line: str) -> bool:
        """Run the statements that a line ends; return False to end the shell."""
        text = f"{self._pending}\n{line}" if self._pending else line
        command = text.strip().upper()
        if command in COMMANDS:  # without a semicolon
            text += ";"
        pieces, self._pending = split(text)
        for piece in pieces:
            self._remember(f"{one_line(piece.text)};")
            if ends_shell(piece):
                return False
            if not self._shell.run(piece):
                self._pending = ""
                break
        return True

    # Editing

    def _set_up_editing(self) -> None:
        readline = self._readline
        if readline is None:
            return
        readline.set_auto_history(False)
        readline.set_completer_delims(DELIMITERS)
        readline.set_completer(self._complete)
        is_libedit = "libedit" in (readline.__doc__ or "")
        readline.parse_and_bind("bind ^I rl_complete" if is_libedit else "tab: complete")
        for statement in self._history.read():
            readline.add_history(statement)

    def _remember(self, statement: str) -> None:
        if self._readline is not None:
            self._readline.add_history(statement)
        with contextlib.suppress(OSError):  # a history that cannot be kept stops nobody
            self._history.append(statement)

    def _complete(self, word: str, number: int) -> str | None:
        """Return a completion of the word at the cursor, as readline asks for it."""
        assert self._readline is not None
        if number == 0:
            line = self._readline.get_line_buffer()
            begin, end = self._readline.get_begidx(), self._readline.get_endidx()
            before = f"{self._pending}\n{line[:begin]}" if self._pending else line[:begin]
            commands = [] if before.strip() else [each for each in COMMANDS if _begins(each, word)]
            found = [*completions(before, word, line[end:], self._catalogs), *commands]
            self._found = [each if each[-1] in "(." else f"{each} " for each in found]
        return self._found[number] if number < len(self._found) else None


def _begins(command: str, word: str) -> bool:
    return bool(word) and command.startswith(word.upper())
