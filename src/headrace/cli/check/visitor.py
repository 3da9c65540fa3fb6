"""The shared state of the visitors of a program: its files, scopes and uses."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.cli.check.catalogue import UNSUPPORTED, Finding
from headrace.cli.check.values import Instance

Scope = dict[str, Any]


@dataclass(frozen=True, order=True)
class Use:
    """A use of a name, with its location."""

    file: str
    line: int
    name: str
    status: str
    reason: str = ""


class ProgramReader:
    """One program; each of its files is visited once."""

    def __init__(self, folder: Path, visitor: type[FileVisitor]) -> None:
        self.folder = folder
        self._visitor = visitor
        self.uses: list[Use] = []
        self._read: dict[Path, Scope] = {}

    def names_of(self, path: Path) -> Scope:
        """Return the names of a file, which is visited first."""
        real = path.resolve()
        if real not in self._read:
            names = self._read[real] = {}
            tree = ast.parse(path.read_text("utf-8"), str(path))
            self._visitor(self, path, names).block(tree.body)
        return self._read[real]

    def find_module(self, module: str, folder: Path | None = None) -> Path | None:
        """Return the file of a module of the program."""
        base = (folder or self.folder).joinpath(*filter(None, module.split(".")))
        for path in (base.with_suffix(".py"), base / "__init__.py"):
            if path.is_file():
                return path
        return base if base.is_dir() else None


class FileVisitor(ast.NodeVisitor):
    """Visits one file; keeps its scopes, and what was found.

    ``visit`` returns the inferred value of an expression.
    """

    def __init__(self, reader: ProgramReader, path: Path, names: Scope) -> None:
        self._reader, self._path = reader, path
        self._scopes: list[Scope] = [names]
        self._class: Instance | None = None
        self._returns: list[list[Any]] = []

    # What is found

    def _report(self, node: ast.AST, name: str, finding: Finding) -> None:
        line = getattr(node, "end_lineno", 0) if isinstance(node, ast.Attribute) else node.lineno  # type: ignore[attr-defined]
        use = Use(str(self._path), line, name, finding.status, finding.reason)
        self._reader.uses.append(use)

    def _report_missing(self, node: ast.AST, name: str, reason: str) -> None:
        self._report(node, name, Finding(None, UNSUPPORTED, reason))

    # Names

    @property
    def _scope(self) -> Scope:
        return self._scopes[-1]

    def _look_up(self, name: str) -> Any:
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        return None

    @contextmanager
    def _new_scope(self, names: Scope) -> Iterator[None]:
        self._scopes.append(names)
        try:
            yield
        finally:
            self._scopes.pop()

    def block(self, statements: Sequence[ast.stmt]) -> None:
        """Visit statements."""
        for statement in statements:
            self.visit(statement)
