"""Assignments: the inferred value of a name that is assigned once."""

from __future__ import annotations

import ast
from typing import Any

from headrace.cli.check.definitions import Definitions
from headrace.cli.check.values import Instance


class Assignments(Definitions):
    """Adds assigned names to the scope, with their inferred values."""

    def visit_Assign(self, node: ast.Assign) -> None:
        """Assign the value to each target."""
        value = self.visit(node.value)
        for target in node.targets:
            self._assign(target, value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Assign an instance of the annotated class, or else the value."""
        value = self.visit(node.value) if node.value is not None else None
        self._assign(node.target, self._resolve_annotation(node.annotation) or value)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> Any:
        """Return the inferred value, which is assigned to the target."""
        value = self.visit(node.value)
        self._assign(node.target, value)
        return value

    def visit_For(self, node: ast.For) -> None:
        """Visit a loop; its target is unknown."""
        self.visit(node.iter)
        self._assign(node.target, None)
        self.block([*node.body, *node.orelse])

    def visit_withitem(self, node: ast.withitem) -> None:
        """Assign the inferred value of the context to the target."""
        value = self.visit(node.context_expr)
        if node.optional_vars is not None:
            self._assign(node.optional_vars, value)

    def _assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self._scope[target.id] = value
        elif isinstance(target, ast.Attribute):
            owner = self.visit(target.value)
            if isinstance(owner, Instance) and owner.attributes is not None:
                owner.attributes[target.attr] = value
        elif isinstance(target, ast.Tuple | ast.List):
            for element in target.elts:
                self._assign(element, None)
        else:
            self.visit(target)
