"""What a file imports: names of PyFlink's, and those of the program's own modules."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

from headrace.cli.check.earlier import finding_of_earlier
from headrace.cli.check.values import PACKAGES, Foreign, Known, OwnModule, Package
from headrace.cli.check.walk import Walk


class Imports(Walk):
    """Imports put into scope what they name."""

    def visit_Import(self, node: ast.Import) -> None:
        """Put the modules into scope."""
        for alias in node.names:
            value = self._module(node, alias.name)
            if alias.asname:
                self._scope[alias.asname] = value
                continue
            first = alias.name.partition(".")[0]
            self._scope[first] = value if first == alias.name else self._first(first, value)

    def _first(self, name: str, value: Any) -> Any:
        if isinstance(value, Package):
            return Package(name)
        if isinstance(value, Foreign):
            return value
        path = self._reading.own(name)
        return OwnModule(self._reading.file(path)) if path and path.is_file() else None

    def _module(self, node: ast.AST, name: str, beside: Path | None = None) -> Any:
        """What an imported module is; what is not there is a use that does not work."""
        if beside is None and name.partition(".")[0] in PACKAGES:
            package = Package(name)
            try:
                package.module()
            except ImportError as error:
                self._missing(node, name, _reason(name.partition(".")[2], error))
                return Foreign()
            return package
        path = self._reading.own(name, beside)
        if path is None:
            return Foreign()
        return OwnModule(self._reading.file(path)) if path.is_file() else OwnModule({})

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Put the names of a module into scope."""
        beside = None
        if node.level:
            beside = self._path.resolve().parents[node.level - 1]
        source = self._module(node, node.module or "", beside)
        for alias in node.names:
            if alias.name == "*":
                self._star(source)
                continue
            value = self._imported(node, source, alias.name)
            if value is None and isinstance(source, OwnModule):
                inner = f"{node.module}.{alias.name}" if node.module else alias.name
                value = self._module(node, inner, beside)
            self._scope[alias.asname or alias.name] = value

    def _imported(self, node: ast.AST, source: Any, name: str) -> Any:
        if isinstance(source, OwnModule):
            return source.names.get(name)
        if not isinstance(source, Package):
            return Foreign()
        found = getattr(source.module(), name, source)  # some names come with the first use
        if inspect.ismodule(found) or found is source:
            inner = Package(f"{source.path}.{name}")
            try:
                inner.module()
            except ImportError as error:
                said = _reason(name, error, "Headrace has no such name")
                self._missing(node, f"{source.path}.{name}", said)
                return Foreign()
            return inner
        return Known(found, name)

    def _star(self, source: Any) -> None:
        if isinstance(source, OwnModule):
            self._scope.update(source.names)
        elif isinstance(source, Package):
            module = source.module()
            public = getattr(module, "__all__", None)
            for name in public or [name for name in vars(module) if name[0] != "_"]:
                self._scope[name] = Known(getattr(module, name), name)


def _reason(name: str, error: ImportError, otherwise: str = "") -> str:
    """Why a name or module is not there: what is said of Flink 1.x, else the error's reason."""
    earlier = finding_of_earlier(name)
    if earlier is not None:
        return earlier.reason
    first = str(error).partition("\n")[0]
    return first.partition("supported: ")[2] or otherwise or first
