"""The names of PyFlink's that a program uses, with file and line, found in its syntax tree.

Followed are imports, aliases, the program's own modules, and, as far as a simple look shows it, of
which class an object is: from calls, annotations, and the parameters of the functions that a class
of PyFlink's asks for. Of an object that is not known, only methods with a name that is PyFlink's
alone count.
"""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.cli.check import values
from headrace.cli.check.catalogue import (
    UNSUPPORTED,
    WORKS,
    Finding,
    finding_of,
    found_under,
    members,
)
from headrace.cli.check.keys import finding_of_key
from headrace.cli.check.values import (
    PACKAGES,
    Foreign,
    Instance,
    Known,
    Method,
    OwnClass,
    OwnFunction,
    OwnModule,
    Package,
)
from headrace.common.unsupported import is_unsupported

Scope = dict[str, Any]

_SETTERS = ("set_string", "set_integer", "set_boolean", "set_float", "set_bytearray")
_BUILTIN = {name for kind in (str, bytes, list, dict, set, int) for name in dir(kind)}


@dataclass(frozen=True, order=True)
class Use:
    """A name at a place."""

    file: str
    line: int
    name: str
    status: str
    reason: str = ""


def uses_of(program: Path) -> list[Use]:
    """The uses of a program and its own modules, in order.

    Raises:
        SyntaxError: a file is no Python.
    """
    reading = _Reading(program.resolve().parent)
    reading.file(program.resolve())
    return sorted(set(reading.uses))


class _Reading:
    """One program: its files, each read once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.uses: list[Use] = []
        self._read: dict[Path, Scope] = {}

    def file(self, path: Path) -> Scope:
        """The names of a file, after it was read."""
        real = path.resolve()
        if real not in self._read:
            names = self._read[real] = {}
            tree = ast.parse(path.read_text("utf-8"), str(path))
            _File(self, path, names).block(tree.body)
        return self._read[real]

    def own(self, module: str, beside: Path | None = None) -> Path | None:
        """The file of a module of the program."""
        place = (beside or self.folder).joinpath(*filter(None, module.split(".")))
        for path in (place.with_suffix(".py"), place / "__init__.py"):
            if path.is_file():
                return path
        return place if place.is_dir() else None


class _File(ast.NodeVisitor):
    """The walk through one file. ``visit`` gives what an expression is known to be."""

    def __init__(self, reading: _Reading, path: Path, names: Scope) -> None:
        self._reading, self._path = reading, path
        self._scopes: list[Scope] = [names]
        self._class: Instance | None = None
        self._returns: list[list[Any]] = []

    # What is found

    def _use(self, node: ast.AST, name: str, finding: Finding) -> None:
        line = getattr(node, "end_lineno", 0) if isinstance(node, ast.Attribute) else node.lineno  # type: ignore[attr-defined]
        use = Use(str(self._path), line, name, finding.status, finding.reason)
        self._reading.uses.append(use)

    def _missing(self, node: ast.AST, name: str, reason: str) -> None:
        self._use(node, name, Finding(None, UNSUPPORTED, reason))

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
    def _inside(self, names: Scope) -> Iterator[None]:
        self._scopes.append(names)
        try:
            yield
        finally:
            self._scopes.pop()

    def block(self, statements: Sequence[ast.stmt]) -> None:
        """Walk through statements."""
        for statement in statements:
            self.visit(statement)

    # Imports

    def visit_Import(self, node: ast.Import) -> None:
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
                self._missing(node, name, str(error).partition("supported: ")[2] or str(error))
                return Foreign()
            return package
        path = self._reading.own(name, beside)
        if path is None:
            return Foreign()
        return OwnModule(self._reading.file(path)) if path.is_file() else OwnModule({})

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
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
                said = str(error).partition("supported: ")[2]
                self._missing(node, f"{source.path}.{name}", said or "Headrace has no such name")
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

    # Definitions

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for decorator in node.decorator_list:
            self.visit(decorator)
        bases = [self.visit(base) for base in node.bases]
        kinds = [base.found for base in bases if isinstance(base, Known)]
        kinds += [base.base for base in bases if isinstance(base, OwnClass)]
        attributes: Scope = {}
        for base in bases:
            if isinstance(base, OwnClass):
                attributes.update(base.attributes)
        base_kind = next((k for k in kinds if isinstance(k, type) and not is_unsupported(k)), None)
        outer, self._class = self._class, None
        if base_kind is not None:
            self._scope[node.name] = OwnClass(base_kind, attributes)
            self._class = Instance(base_kind, attributes)
        else:
            self._class = Instance(object, attributes)
            self._scope[node.name] = OwnClass(object, attributes)
        with self._inside({}):
            # ``open`` says what the attributes are that other methods use.
            first = ("__init__", "open")
            methods = [n for n in node.body if getattr(n, "name", "") in first]
            self.block([*methods, *(n for n in node.body if n not in methods)])
        self._class = outer

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for decorator in node.decorator_list:
            self.visit(decorator)
        for default in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
            self.visit(default)
        returns: list[Any] = []
        of_class, self._class = self._class, None
        if of_class is None:
            self._scope[node.name] = OwnFunction(returns)
        names = self._parameters(node, of_class)
        self._returns.append(returns)
        with self._inside(names):
            self.block(node.body)
        self._returns.pop()
        self._class = of_class
        declared = self._annotation(node.returns)
        if declared is not None:
            returns.insert(0, declared)

    visit_AsyncFunctionDef = visit_FunctionDef

    def _parameters(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef, of_class: Instance | None
    ) -> Scope:
        arguments = [*node.args.posonlyargs, *node.args.args]
        names: Scope = {a.arg: self._annotation(a.annotation) for a in arguments}
        if of_class is None or not arguments:
            return names
        names[arguments[0].arg] = of_class
        asked = inspect.getattr_static(of_class.kind, node.name, None)
        if not inspect.isfunction(asked) or not asked.__module__.startswith("headrace."):
            return names
        for argument, parameter in zip(
            arguments[1:], [*inspect.signature(asked).parameters][1:], strict=False
        ):
            if names[argument.arg] is None:
                names[argument.arg] = values.annotated(asked, parameter, of_class.kind)
        return names

    def _annotation(self, node: ast.expr | None) -> Any:
        """An object of the class that an annotation names. Annotations are no uses."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                node = ast.parse(node.value, mode="eval").body
            except SyntaxError:
                return None
        if not isinstance(node, ast.Name | ast.Attribute):
            return None
        before = len(self._reading.uses)
        value = self.visit(node)
        del self._reading.uses[before:]
        if isinstance(value, Known) and is_unsupported(value.found):
            return None
        return values.called(value) if isinstance(value, Known | OwnClass) else None

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        with self._inside({argument.arg: None for argument in node.args.args}):
            self.visit(node.body)

    def visit_Return(self, node: ast.Return) -> None:
        value = self.visit(node.value) if node.value is not None else None
        if self._returns and value is not None:
            self._returns[-1].append(value)

    # Assignments

    def visit_Assign(self, node: ast.Assign) -> None:
        value = self.visit(node.value)
        for target in node.targets:
            self._assign(target, value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        value = self.visit(node.value) if node.value is not None else None
        self._assign(node.target, self._annotation(node.annotation) or value)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> Any:
        value = self.visit(node.value)
        self._assign(node.target, value)
        return value

    def visit_For(self, node: ast.For) -> None:
        self.visit(node.iter)
        self._assign(node.target, None)
        self.block([*node.body, *node.orelse])

    def visit_withitem(self, node: ast.withitem) -> None:
        value = self.visit(node.context_expr)
        if node.optional_vars is not None:
            self._assign(node.optional_vars, value)

    def _assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self._scope[target.id] = value
        elif isinstance(target, ast.Attribute):
            owner = self.visit(target.value)
            if isinstance(owner, Instance) and owner.own is not None:
                owner.own[target.attr] = value
        elif isinstance(target, ast.Tuple | ast.List):
            for element in target.elts:
                self._assign(element, None)
        else:
            self.visit(target)

    # Expressions

    def visit_Name(self, node: ast.Name) -> Any:
        value = self._look_up(node.id)
        if isinstance(value, Known):
            self._use(node, value.name, finding_of(value.found))
        return value

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        value = self.visit(node.value)
        if isinstance(value, Package):
            value = self._imported(node, value, node.attr)
            if isinstance(value, Known):
                self._use(node, value.name, finding_of(value.found))
            return value
        if isinstance(value, OwnModule):
            return value.names.get(node.attr)
        if isinstance(value, Foreign):
            return value
        if isinstance(value, Instance) and value.own and node.attr in value.own:
            return value.own[node.attr]
        kind = getattr(value, "kind", None) or getattr(value, "base", None)
        if isinstance(value, Known):
            kind = value.found if isinstance(value.found, type) else None
        if isinstance(kind, type) and not is_unsupported(kind) and kind is not object:
            return self._member(node, kind)
        if value is None:
            self._guess(node)
        return None

    def _member(self, node: ast.Attribute, kind: type) -> Any:
        name = f"{kind.__qualname__}.{node.attr}"
        finding = finding_of(kind, node.attr)
        if finding.found is not None or finding.status != WORKS:
            self._use(node, name, finding)
        found = inspect.getattr_static(kind, node.attr, None)
        if isinstance(found, type) and not is_unsupported(found):
            return Known(found, name)
        return Method(kind, node.attr)

    def _guess(self, node: ast.Attribute) -> None:
        """A method of an object that is not known: by a name that is PyFlink's alone."""
        name = node.attr
        if "_" not in name or name in _BUILTIN or hasattr(builtins, name) or name[0] == "_":
            return
        owners = [owned[name] for owned in members().values() if name in owned]
        findings = [found_under(owner) for owner in owners]
        if len({finding.status for finding in findings}) != 1:
            return
        classes, reasons = {o.owner for o in owners}, {finding.reason for finding in findings}
        finding = findings[0] if len(reasons) == 1 else Finding(None, findings[0].status)
        self._use(node, f"{min(classes) if len(classes) == 1 else '…'}.{name}", finding)

    def visit_Call(self, node: ast.Call) -> Any:
        function = self.visit(node.func)
        for argument in [*node.args, *(keyword.value for keyword in node.keywords)]:
            self.visit(argument)
        if isinstance(function, Method) and function.name in _SETTERS and node.args:
            key = node.args[0]
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                self._use(key, key.value, finding_of_key(key.value))
        return values.called(function)

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        self.visit(node.test)
        first, second = self.visit(node.body), self.visit(node.orelse)
        return first if first is not None else second
