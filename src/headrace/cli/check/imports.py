"""Imports of a file: names of PyFlink, and of the program's own modules."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

from headrace.cli.check.flink1_names import finding_of_flink1_name
from headrace.cli.check.values import PACKAGES, ApiObject, Package, ProgramModule, ThirdParty
from headrace.cli.check.visitor import FileVisitor


class Imports(FileVisitor):
    """Adds imported names to the scope."""

    def visit_Import(self, node: ast.Import) -> None:
        """Add the modules to the scope."""
        for alias in node.names:
            value = self._import_module(node, alias.name)
            if alias.asname:
                self._scope[alias.asname] = value
                continue
            first = alias.name.partition(".")[0]
            self._scope[first] = value if first == alias.name else self._root_package(first, value)

    def _root_package(self, name: str, value: Any) -> Any:
        if isinstance(value, Package):
            return Package(name)
        if isinstance(value, ThirdParty):
            return value
        path = self._reader.find_module(name)
        return ProgramModule(self._reader.names_of(path)) if path and path.is_file() else None

    def _import_module(self, node: ast.AST, name: str, folder: Path | None = None) -> Any:
        """Return the imported module; a missing one is reported as a use that does not work."""
        if folder is None and name.partition(".")[0] in PACKAGES:
            package = Package(name)
            try:
                package.module()
            except ImportError as error:
                self._report_missing(node, name, _missing_reason(name.partition(".")[2], error))
                return ThirdParty()
            return package
        path = self._reader.find_module(name, folder)
        if path is None:
            return ThirdParty()
        return ProgramModule(self._reader.names_of(path)) if path.is_file() else ProgramModule({})

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Add the names of a module to the scope."""
        folder = None
        if node.level:
            folder = self._path.resolve().parents[node.level - 1]
        source = self._import_module(node, node.module or "", folder)
        for alias in node.names:
            if alias.name == "*":
                self._import_all(source)
                continue
            value = self._imported_value(node, source, alias.name)
            if value is None and isinstance(source, ProgramModule):
                inner = f"{node.module}.{alias.name}" if node.module else alias.name
                value = self._import_module(node, inner, folder)
            self._scope[alias.asname or alias.name] = value

    def _imported_value(self, node: ast.AST, source: Any, name: str) -> Any:
        if isinstance(source, ProgramModule):
            return source.names.get(name)
        if not isinstance(source, Package):
            return ThirdParty()
        found = getattr(source.module(), name, source)  # some names come with the first use
        if inspect.ismodule(found) or found is source:
            inner = Package(f"{source.path}.{name}")
            try:
                inner.module()
            except ImportError as error:
                reason = _missing_reason(name, error, "Headrace has no such name")
                self._report_missing(node, f"{source.path}.{name}", reason)
                return ThirdParty()
            return inner
        return ApiObject(found, name)

    def _import_all(self, source: Any) -> None:
        if isinstance(source, ProgramModule):
            self._scope.update(source.names)
        elif isinstance(source, Package):
            module = source.module()
            public = getattr(module, "__all__", None)
            for name in public or [name for name in vars(module) if name[0] != "_"]:
                self._scope[name] = ApiObject(getattr(module, name), name)


def _missing_reason(name: str, error: ImportError, default: str = "") -> str:
    """Return why a name or module is missing: the note for Flink 1.x, or the error's reason."""
    flink1 = finding_of_flink1_name(name)
    if flink1 is not None:
        return flink1.reason
    first = str(error).partition("\n")[0]
    return first.partition("supported: ")[2] or default or first
