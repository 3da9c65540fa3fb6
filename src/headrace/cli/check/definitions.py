"""Classes and functions that a file defines, with inferred parameters and results."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from headrace.cli.check import values
from headrace.cli.check.values import ApiObject, Instance, ProgramClass, ProgramFunction
from headrace.cli.check.visitor import FileVisitor, Scope
from headrace.common._unsupported import is_unsupported


class Definitions(FileVisitor):
    """Adds definitions to the scope."""

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Add a class to the scope, with the attributes that its methods set."""
        for decorator in node.decorator_list:
            self.visit(decorator)
        bases = [self.visit(base) for base in node.bases]
        kinds = [base.found for base in bases if isinstance(base, ApiObject)]
        kinds += [base.base for base in bases if isinstance(base, ProgramClass)]
        attributes: Scope = {}
        for base in bases:
            if isinstance(base, ProgramClass):
                attributes.update(base.attributes)
        base_kind = next((k for k in kinds if isinstance(k, type) and not is_unsupported(k)), None)
        outer, self._class = self._class, None
        if base_kind is not None:
            self._scope[node.name] = ProgramClass(base_kind, attributes)
            self._class = Instance(base_kind, attributes)
        else:
            self._class = Instance(object, attributes)
            self._scope[node.name] = ProgramClass(object, attributes)
        with self._new_scope({}):
            # ``open`` says what the attributes are that other methods use.
            first = ("__init__", "open")
            methods = [n for n in node.body if getattr(n, "name", "") in first]
            self.block([*methods, *(n for n in node.body if n not in methods)])
        self._class = outer

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Add a function to the scope, with its inferred result."""
        for decorator in node.decorator_list:
            self.visit(decorator)
        for default in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
            self.visit(default)
        returns: list[Any] = []
        of_class, self._class = self._class, None
        if of_class is None:
            self._scope[node.name] = ProgramFunction(returns)
        names = self._make_parameters(node, of_class)
        self._returns.append(returns)
        with self._new_scope(names):
            self.block(node.body)
        self._returns.pop()
        self._class = of_class
        declared = self._resolve_annotation(node.returns)
        if declared is not None:
            returns.insert(0, declared)

    visit_AsyncFunctionDef = visit_FunctionDef

    def _make_parameters(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef, of_class: Instance | None
    ) -> Scope:
        arguments = [*node.args.posonlyargs, *node.args.args]
        names: Scope = {a.arg: self._resolve_annotation(a.annotation) for a in arguments}
        if of_class is None or not arguments:
            return names
        names[arguments[0].arg] = of_class
        contract = inspect.getattr_static(of_class.kind, node.name, None)
        if not inspect.isfunction(contract) or not contract.__module__.startswith("headrace."):
            return names
        for argument, parameter in zip(
            arguments[1:], [*inspect.signature(contract).parameters][1:], strict=False
        ):
            if names[argument.arg] is None:
                names[argument.arg] = values.instance_annotated(contract, parameter, of_class.kind)
        return names

    def _resolve_annotation(self, node: ast.expr | None) -> Any:
        """Return an instance of the class in an annotation. Annotations do not count as uses."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                node = ast.parse(node.value, mode="eval").body
            except SyntaxError:
                return None
        if not isinstance(node, ast.Name | ast.Attribute):
            return None
        before = len(self._reader.uses)
        value = self.visit(node)
        del self._reader.uses[before:]
        if isinstance(value, ApiObject) and is_unsupported(value.found):
            return None
        return values.result_of_call(value) if isinstance(value, ApiObject | ProgramClass) else None

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        """Visit the body; the parameters are unknown."""
        with self._new_scope({argument.arg: None for argument in node.args.args}):
            self.visit(node.body)

    def visit_Return(self, node: ast.Return) -> None:
        """Store the inferred result of the current function."""
        value = self.visit(node.value) if node.value is not None else None
        if self._returns and value is not None:
            self._returns[-1].append(value)
