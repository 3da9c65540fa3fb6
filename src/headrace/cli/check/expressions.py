"""Infers the values of expressions, and reports the uses in them."""

from __future__ import annotations

import ast
import builtins
import inspect
import re
from typing import Any

from headrace.cli.check import values
from headrace.cli.check.catalogue import WORKS, Finding, finding_for_program, finding_of, members
from headrace.cli.check.flink1_names import finding_of_flink1_member, finding_of_flink1_method
from headrace.cli.check.imports import Imports
from headrace.cli.check.keys import finding_of_key
from headrace.cli.check.values import (
    ApiObject,
    Instance,
    Method,
    Package,
    ProgramModule,
    ThirdParty,
)
from headrace.common._unsupported import is_unsupported

_SETTERS = ("set_string", "set_integer", "set_boolean", "set_float", "set_bytearray")
_PATTERN = re.compile(r"\bMATCH_RECOGNIZE\s*\(", re.IGNORECASE)
_BUILTIN = {name for kind in (str, bytes, list, dict, set, int) for name in dir(kind)}


def _sets_a_key(method: Method) -> bool:
    of_tables = method.kind.__name__ == "TableConfig" and method.name == "set"
    return of_tables or method.name in _SETTERS


class Expressions(Imports):
    """Names, attributes and calls: the uses of PyFlink's names."""

    def visit_Name(self, node: ast.Name) -> Any:
        """Return the value of the name."""
        value = self._look_up(node.id)
        if isinstance(value, ApiObject):
            self._report(node, value.name, finding_of(value.found))
        return value

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        """Return the inferred value of the attribute."""
        value = self.visit(node.value)
        if isinstance(value, Package):
            value = self._imported_value(node, value, node.attr)
            if isinstance(value, ApiObject):
                self._report(node, value.name, finding_of(value.found))
            return value
        if isinstance(value, ProgramModule):
            return value.names.get(node.attr)
        if isinstance(value, ThirdParty):
            return value
        if isinstance(value, Instance) and value.attributes and node.attr in value.attributes:
            return value.attributes[node.attr]
        kind = getattr(value, "kind", None) or getattr(value, "base", None)
        if isinstance(value, ApiObject):
            kind = value.found if isinstance(value.found, type) else None
        if isinstance(kind, type) and not is_unsupported(kind) and kind is not object:
            return self._find_member(node, kind)
        if value is None:
            self._guess(node)
        return None

    def _find_member(self, node: ast.Attribute, kind: type) -> Any:
        name = f"{kind.__qualname__}.{node.attr}"
        finding = finding_of(kind, node.attr)
        if finding.found is None and finding.status == WORKS:
            finding = finding_of_flink1_member(kind, node.attr) or finding
        if finding.found is not None or finding.status != WORKS:
            self._report(node, name, finding)
        found = inspect.getattr_static(kind, node.attr, None)
        if isinstance(found, type) and not is_unsupported(found):
            return ApiObject(found, name)
        return Method(kind, node.attr)

    def _guess(self, node: ast.Attribute) -> None:
        """Note a use of a method of an unknown object, if only PyFlink has the method's name."""
        name = node.attr
        if "_" not in name or name in _BUILTIN or hasattr(builtins, name) or name[0] == "_":
            return
        owners = [owned[name] for owned in members().values() if name in owned]
        flink1 = None if owners else finding_of_flink1_method(name)
        if flink1 is not None:
            self._report(node, *flink1)
            return
        findings = [finding_for_program(owner) for owner in owners]
        if len({finding.status for finding in findings}) != 1:
            return
        classes, reasons = {o.owner for o in owners}, {finding.reason for finding in findings}
        finding = findings[0] if len(reasons) == 1 else Finding(None, findings[0].status)
        self._report(node, f"{min(classes) if len(classes) == 1 else '…'}.{name}", finding)

    def visit_Call(self, node: ast.Call) -> Any:
        """Return the inferred result of the call."""
        function = self.visit(node.func)
        for argument in [*node.args, *(keyword.value for keyword in node.keywords)]:
            self.visit(argument)
        if isinstance(function, Method) and _sets_a_key(function) and node.args:
            key = node.args[0]
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                given = [each.value for each in node.args[1:2] if isinstance(each, ast.Constant)]
                self._report(key, key.value, finding_of_key(key.value, *given))
        return values.result_of_call(function)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Note a use of SQL for a text with an SQL pattern (MATCH_RECOGNIZE)."""
        if isinstance(node.value, str) and _PATTERN.search(node.value):
            reason = "not supported in SQL; headrace.cep has patterns of events"
            self._report_missing(node, "MATCH_RECOGNIZE", reason)

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        """Return the inferred value of the first branch, or else of the second."""
        self.visit(node.test)
        first, second = self.visit(node.body), self.visit(node.orelse)
        return first if first is not None else second
