"""Draw the folders of the package and the imports between them, and name every circle.

    python scripts/import_layers.py                              # packages of src/headrace as SVG
    python scripts/import_layers.py --package headrace.runners   # one folder's parts
    python scripts/import_layers.py --source OTHER/src/headrace  # another checkout's
    python scripts/import_layers.py --circles                    # only the circles, at every level
    python scripts/import_layers.py --check                      # no circle, and a current drawing

A folder counts as one part, whatever is in it; the files beside it are parts as well. An arrow
means that a file of one part imports a file of the other, within a function too. What only type
checkers see (``if TYPE_CHECKING``) is left out, and so is an arrow that follows from others.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterable, Iterator, Mapping, Set
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # as a script it sees its own folder alone

from scripts.generated import write_or_check  # noqa: E402

DRAWING = ROOT / "docs" / "adr" / "0016-import-layers.svg"
API_CIRCLES = (
    ("functions", "state", "_functions."),
    ("data_stream", "stream_execution_environment", "_streams."),
)
"""Modules of ``headrace.datastream`` that type checkers see importing each other: a function gets
states with functions; a stream gives other streams and its environment."""
Graph = Mapping[str, Set[str]]
"""What imports what: every name is there as a key."""
Named = Set[tuple[str, str]]

_WIDTH, _HEIGHT, _GAP_X, _GAP_Y, _MARGIN = 120, 32, 24, 46, 20


def imports(source: Path, *, types: bool = False) -> Graph:
    """The modules below a package's folder, and which of them each one imports as it runs.

    With ``types``, also those that it imports for type checkers only.
    """
    modules = {_module_name(source, path): path for path in sorted(source.rglob("*.py"))}
    return {
        name: _imported(path.read_text("utf-8"), modules.keys(), types) - {name}
        for name, path in modules.items()
    }


def parts(modules: Graph, package: str) -> Graph:
    """The folders and files directly in a package, and which of them each one imports from."""
    prefix = package + "."
    found: dict[str, set[str]] = {}
    for module, imported in modules.items():
        if module.startswith(prefix):
            part = module.removeprefix(prefix).split(".")[0]
            others = {
                name.removeprefix(prefix).split(".")[0]
                for name in imported
                if name.startswith(prefix)
            }
            found.setdefault(part, set()).update(others - {part})
    return found


def circles(graph: Graph) -> list[list[str]]:
    """Groups of parts that reach each other, each sorted; none where imports point one way."""
    reached = {name: _reached(graph, name) for name in graph}
    groups = {
        tuple(sorted(other for other in reached[name] if name in reached[other]))
        for name in graph
        if name in reached[name]
    }
    return sorted(map(list, groups))


def all_circles(modules: Graph) -> dict[str, list[list[str]]]:
    """The circles in each package that has some."""
    packages = {name[:at] for name in modules for at, c in enumerate(name) if c == "."}
    found = {package: circles(parts(modules, package)) for package in sorted(packages)}
    return {package: groups for package, groups in found.items() if groups}


def floors(graph: Graph) -> dict[str, int]:
    """The floor of each part: above all that it imports; those of one circle share one."""
    reached = {name: _reached(graph, name) for name in graph}
    known: dict[str, int] = {}

    def floor(name: str) -> int:
        if name not in known:
            same = {other for other in reached[name] if name in reached[other]}
            below = reached[name] - same - {name}
            known[name] = 1 + max(map(floor, below), default=0)
        return known[name]

    return {name: floor(name) for name in graph}


def svg(graph: Graph) -> str:
    """The parts as boxes on floors; a circle's are red."""
    rows: dict[int, list[str]] = {}
    for name, floor in sorted(floors(graph).items()):
        rows.setdefault(floor, []).append(name)
    red = {name for group in circles(graph) for name in group}
    widest = max(map(len, rows.values()))
    width = 2 * _MARGIN + widest * (_WIDTH + _GAP_X) - _GAP_X
    height = 2 * _MARGIN + len(rows) * (_HEIGHT + _GAP_Y) - _GAP_Y
    place: dict[str, tuple[float, float]] = {}
    for at, (_, names) in enumerate(sorted(rows.items(), reverse=True)):
        left = (width - len(names) * (_WIDTH + _GAP_X) + _GAP_X) / 2
        for column, name in enumerate(names):
            place[name] = (left + column * (_WIDTH + _GAP_X), _MARGIN + at * (_HEIGHT + _GAP_Y))
    arrows = [_arrow(place[a], place[b], a in red and b in red) for a, b in _needed(graph)]
    boxes = [_box(name, *place[name], name in red) for name in sorted(graph)]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
            ' font-family="sans-serif" font-size="13" text-anchor="middle">',
            f'<rect width="{width}" height="{height}" fill="white"/>',
            *(_head(color) for color in ("gray", "red")),
            *arrows,
            *boxes,
            "</svg>\n",
        ]
    )


def _module_name(source: Path, path: Path) -> str:
    names = path.relative_to(source.parent).with_suffix("").parts
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


def _imported(text: str, modules: Set[str], types: bool) -> set[str]:
    at_run_time, with_types = _named(text)
    named = with_types if types else at_run_time
    return {inner if inner in modules else outer for outer, inner in named} & modules


@cache
def _named(text: str) -> tuple[Named, Named]:
    """What a file imports as it runs, and with what only type checkers see; parsed once."""
    tree = ast.parse(text)
    return frozenset(_imports(_run(tree))), frozenset(_imports(ast.walk(tree)))


def _imports(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    """The module of each import, and what the name is if that is a module as well."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((alias.name, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                yield node.module, f"{node.module}.{alias.name}"


def _run(node: ast.AST) -> Iterator[ast.AST]:
    """The node and what is in it, without what only type checkers see."""
    if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
        for statement in node.orelse:
            yield from _run(statement)
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _run(child)


def _reached(graph: Graph, start: str) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        for name in graph[waiting.pop()] - found:
            found.add(name)
            waiting.append(name)
    return found


def _needed(graph: Graph) -> list[tuple[str, str]]:
    """The arrows that do not follow from others; all of those within a circle."""
    reached = {name: _reached(graph, name) for name in graph}
    return [
        (name, other)
        for name in sorted(graph)
        for other in sorted(graph[name])
        if name in reached[other]
        or not any(
            other in reached[way] and way not in reached[other] and name not in reached[way]
            for way in graph[name] - {other}
        )
    ]


def _box(name: str, x: float, y: float, red: bool) -> str:
    middle, color = x + _WIDTH / 2, "red" if red else "black"
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{_WIDTH}" height="{_HEIGHT}" rx="4"'
        f' fill="white" stroke="{color}"/>'
        f'<text x="{middle:g}" y="{y + _HEIGHT / 2 + 5:g}">{name}</text>'
    )


def _arrow(start: tuple[float, float], end: tuple[float, float], red: bool) -> str:
    """From box to box: down between floors, in a bow along one floor."""
    color = "red" if red else "gray"
    x1, x2 = start[0] + _WIDTH / 2, end[0] + _WIDTH / 2
    if start[1] == end[1]:
        y = start[1] if x1 < x2 else start[1] + _HEIGHT
        bow = y - 30 if x1 < x2 else y + 30
        path = f"M{x1:g} {y:g} Q{(x1 + x2) / 2:g} {bow:g} {x2:g} {y:g}"
    else:
        y1, y2 = start[1] + _HEIGHT, end[1]
        path = f"M{x1:g} {y1:g} C{x1:g} {y1 + 30:g} {x2:g} {y2 - 30:g} {x2:g} {y2:g}"
    return f'<path d="{path}" fill="none" stroke="{color}" marker-end="url(#{color})"/>'


def _head(color: str) -> str:
    return (
        f'<marker id="{color}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8"'
        f' markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8z" fill="{color}"/></marker>'
    )


def main(arguments: list[str] | None = None) -> int:
    """Print what is asked for; 1 where only circles are, and there are some."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--source", type=Path, default=ROOT / "src" / "headrace")
    parser.add_argument("--package", default="headrace")
    parser.add_argument("--circles", action="store_true")
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args(arguments)
    modules = imports(given.source)
    if given.circles or given.check:
        found = all_circles(modules)
        for package, groups in found.items():
            for group in groups:
                print(f"{package}: {', '.join(group)}")
        if given.circles:
            return int(bool(found))
        unknown = unknown_type_circles(imports(given.source, types=True))
        for circle in unknown:
            print(f"for type checkers: {', '.join(circle)}")
        drawing = {DRAWING: svg(parts(modules, given.package))}
        command = f"import_layers.py > {DRAWING.relative_to(ROOT)}"
        return write_or_check(command, drawing, ["--check"]) or int(bool(found or unknown))
    print(svg(parts(modules, given.package)), end="")
    return 0


def unknown_type_circles(modules: Graph) -> list[list[str]]:
    """Circles of imports that type checkers see, but for those of the API."""
    known = [tuple(f"headrace.datastream.{name}" for name in circle) for circle in API_CIRCLES]
    return [
        circle
        for circle in circles(modules)
        if not any(all(name.startswith(names) for name in circle) for names in known)
    ]


if __name__ == "__main__":
    sys.exit(main())
