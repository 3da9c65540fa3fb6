"""Which test files a change may break: ``python -m tests.affected``, for ``make affected``.

They are those that import what was changed, directly or through others, the nearest first; of a
file that is no module, those that name it. Without Spark and servers unless ``--all`` is given.
"""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated

import grimp
import typer

from headrace._lazy_exports import stub_names

ROOT = Path(__file__).resolve().parents[1]
ROOTS = {"headrace": ROOT / "src", "tests": ROOT, "bench": ROOT}


def changed_files(since: str) -> list[Path]:
    """What differs from a commit, and what git does not know yet."""
    asked = (["diff", "--name-only", since], ["ls-files", "--others", "--exclude-standard"])
    found = [_git(*each) for each in asked]
    return [Path(line) for text in found for line in text.splitlines()]


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout


def import_graph() -> grimp.ImportGraph:
    """Who imports whom in the package, its tests and the benchmarks; names in stubs count too."""
    graph = grimp.build_graph(*ROOTS, cache_dir=None)
    for stub in (ROOT / "src").rglob("__init__.pyi"):
        package = ".".join(stub.parent.relative_to(ROOT / "src").parts)
        import_module(package)
        for module in set(stub_names(package).values()):
            graph.add_import(importer=package, imported=module)
    return graph


def importing_tests(graph: grimp.ImportGraph, changed: str) -> dict[str, int]:
    """The test modules that import a module, by the number of imports between the two."""
    found = {changed: 0}
    waiting = [changed]
    for module in waiting:
        for importer in graph.find_modules_that_directly_import(module):
            if importer not in found:
                found[importer] = found[module] + 1
                waiting.append(importer)
    return {name: far for name, far in found.items() if _is_test(name)}


def _is_test(module: str) -> bool:
    return module.startswith("tests.") and module.rpartition(".")[2].startswith("test_")


def module_of(path: Path) -> str | None:
    """The dotted name of a Python file; None where it is no module of ours."""
    if path.suffix not in (".py", ".pyi"):
        return None
    for name, root in ROOTS.items():
        if (ROOT / path).is_relative_to(root / name):
            parts = (ROOT / path).relative_to(root).with_suffix("").parts
            return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    return None


def affected(files: list[Path], graph: grimp.ImportGraph) -> list[str]:
    """Test files, the nearest to a change first."""
    nearest: dict[str, int] = {}
    for path in files:
        module = module_of(path)
        if module in graph.modules:
            found = importing_tests(graph, module)
        else:
            found = {each: 1 for each in graph.modules if _is_test(each) and _names(each, path)}
        for test, far in found.items():
            nearest[test] = min(far, nearest.get(test, far))
    return [_file(test) for test in sorted(nearest, key=lambda each: (nearest[each], each))]


def _names(test: str, path: Path) -> bool:
    return path.name in (ROOT / _file(test)).read_text(encoding="utf-8")


def _file(module: str) -> str:
    return module.replace(".", "/") + ".py"


def main(
    since: str = "HEAD",
    everything: Annotated[bool, typer.Option("--all", help="with Spark and servers")] = False,
) -> None:
    """Run them; ``--since main`` looks at all commits of a branch."""
    files = affected(changed_files(since), import_graph())
    print(f"{len(files)} test files import or name what was changed since {since}", flush=True)
    if not files:
        return
    marks = "not proof" if everything else "not spark and not proof"
    done = subprocess.run([sys.executable, "-m", "pytest", "-m", marks, *files], cwd=ROOT)
    no_tests_left = 5
    raise SystemExit(0 if done.returncode == no_tests_left else done.returncode)


if __name__ == "__main__":
    typer.run(main)
