"""Where the source can be made wrong, and a copy of it that holds all chosen mutants, switched off.

A mutant replaces one expression or leaves out one statement. In the copy both forms stand side by
side, ``(wrong if on(17) else right)``, without a new line, so that one copy serves every mutant and
tracebacks keep their numbers.
"""

from __future__ import annotations

import ast
import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SWITCH = "headrace_mutants"

_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}
_ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "+",
    ast.FloorDiv: "*",
    ast.Mod: "+",
    ast.BitOr: "&",
    ast.BitAnd: "|",
}


@dataclass(frozen=True)
class Mutant:
    """One change of one file; ``wrong`` is None where a statement is left out."""

    number: int
    file: str
    line: int
    start: int
    end: int
    right: str
    wrong: str | None

    def __str__(self) -> str:
        right = " ".join(self.right.split())
        return f"{self.number}: {self.file}:{self.line}: {right} -> {self.wrong or 'nothing'}"


def draw(source: Path, packages: list[str], count: int, seed: int) -> list[Mutant]:
    """``count`` mutants of the packages below ``source``, of which no two overlap."""
    found = [
        (str(path.relative_to(source)), *site)
        for package in packages
        for path in sorted((source / package).rglob("*.py"))
        for site in sites(path.read_text(encoding="utf-8"))
    ]
    random.Random(seed).shuffle(found)
    chosen: list[Mutant] = []
    for file, line, start, end, right, wrong in found:
        if all(each.file != file or end <= each.start or each.end <= start for each in chosen):
            chosen.append(Mutant(len(chosen), file, line, start, end, right, wrong))
        if len(chosen) == count:
            break
    return chosen


def copy_with(mutants: list[Mutant], source: Path, target: Path) -> None:
    """Copy the source tree with every mutant in it, and the module that switches one on."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    for file in {mutant.file for mutant in mutants}:
        path = target / file
        data = path.read_bytes()
        inside = [mutant for mutant in mutants if mutant.file == file]
        for mutant in sorted(inside, key=lambda each: each.start, reverse=True):
            data = data[: mutant.start] + _both(mutant).encode() + data[mutant.end :]
        compile(data, file, "exec")
        path.write_bytes(data)
    switch = Path(__file__).with_name("switch.py").read_text(encoding="utf-8")
    (target / f"{SWITCH}.py").write_text(switch, encoding="utf-8")


def _both(mutant: Mutant) -> str:
    on = f'__import__("{SWITCH}").on({mutant.number})'
    if mutant.wrong is None:
        return f"if not {on}: {mutant.right}"
    return f"({mutant.wrong} if {on} else ({mutant.right}))"


def sites(text: str) -> Iterator[tuple[int, int, int, str, str | None]]:
    """Line, first byte, end, source and wrong source of what can be changed inside functions."""
    data = text.encode()
    lines = [0]
    for line in data.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    for node in _inside_functions(ast.parse(text)):
        wrong = _wrong(node)
        if wrong is None and not _can_go(node):
            continue
        start = lines[node.lineno - 1] + node.col_offset
        end = lines[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        yield node.lineno, start, end, data[start:end].decode(), wrong


def _inside_functions(tree: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """Statements and expressions that run, without annotations, messages and decorators."""
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        node, inside = waiting.pop()
        if isinstance(node, ast.JoinedStr | ast.Raise | ast.Assert | ast.arg):
            continue  # positions inside a formatted string are wrong before Python 3.12
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name != "__repr__":
                waiting += [(child, True) for child in node.body]
            continue
        if isinstance(node, ast.AnnAssign):
            waiting += [(node.value, inside)] if node.value else []
            continue
        if inside and isinstance(node, ast.expr | ast.stmt):
            yield node
        waiting += [(child, inside) for child in ast.iter_child_nodes(node)]


def _wrong(node: ast.AST) -> str | None:
    """The wrong form of an expression; None if there is none."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right = ast.unparse(node.left), ast.unparse(node.comparators[0])
        return f"(({left}) {_COMPARISONS[type(node.ops[0])]} ({right}))"
    if isinstance(node, ast.BoolOp):
        other = " or " if isinstance(node.op, ast.And) else " and "
        return f"({other.join(f'({ast.unparse(value)})' for value in node.values)})"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return f"bool({ast.unparse(node.operand)})"
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        left, right = ast.unparse(node.left), ast.unparse(node.right)
        return f"(({left}) {_ARITHMETIC[type(node.op)]} ({right}))"
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            return str(not node.value)
        if isinstance(node.value, int):
            return str(node.value + 1)
    if isinstance(node, ast.IfExp):
        test, yes, no = map(ast.unparse, (node.test, node.body, node.orelse))
        return f"(({no}) if ({test}) else ({yes}))"
    return None


def _can_go(node: ast.AST) -> bool:
    """Whether it is a call whose result nobody takes, or a change of a variable's value."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call | ast.Await)
    return isinstance(node, ast.AugAssign)
