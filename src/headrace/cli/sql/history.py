"""The statements that were entered, in a file of the user."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from headrace.errors import SqlParserError
from headrace.sql.dialect.lexer import tokenize

KEPT_STATEMENTS = 1000


def default_file() -> Path:
    """Return the file of the user."""
    return Path.home() / ".headrace-sql-history"


def one_line(statement: str) -> str:
    """Return a statement without comments and line ends, as it is entered again.

    Line ends in quotes stay. A text that is no SQL is kept as it is.
    """
    try:
        tokens = tokenize(statement)
    except SqlParserError:
        return statement
    found, end = "", 0
    for token in tokens[:-1]:
        found += (" " if found and token.start > end else "") + statement[token.start : token.end]
        end = token.end
    return found


class HistoryFile:
    """Statements in a file, one in a line; only the user can read it, as options hold passwords."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> list[str]:
        """Return the last statements, the oldest first; none if there is no file."""
        if not self._path.exists():
            return []
        lines = self._path.read_text("utf-8", errors="replace").splitlines()
        if len(lines) > 2 * KEPT_STATEMENTS:
            lines = lines[-KEPT_STATEMENTS:]
            self._write(lines)
        return [_unescaped(line) for line in lines[-KEPT_STATEMENTS:]]

    def append(self, statement: str) -> None:
        """Add a statement; other shells add theirs to the same file."""
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with open(descriptor, "a", encoding="utf-8") as file:
            file.write(_escaped(statement) + "\n")

    def _write(self, lines: Iterable[str]) -> None:
        made = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        descriptor = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
        made.replace(self._path)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\r", "\\r").replace("\n", "\\n")


def _unescaped(line: str) -> str:
    parts = line.split("\\\\")
    return "\\".join(part.replace("\\n", "\n").replace("\\r", "\r") for part in parts)
