"""``headrace init``: a new project from an example, with its test."""

from __future__ import annotations

import ast
import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from headrace.errors import ConfigurationError


class Template(StrEnum):
    """The examples for new projects: each is a program with a test."""

    SKI_LIFTS = "ski-lifts"
    RETAIL_SALES = "retail-sales"
    BUS_POSITIONS = "bus-positions"
    WEARABLES = "wearables"
    TOP_SELLERS = "top-sellers"
    REAL_ESTATE = "real-estate"
    CARD_FRAUD = "card-fraud"

    @property
    def module(self) -> str:
        """The name of the program's module."""
        return self.value.replace("-", "_")

    @classmethod
    def of(cls, name: str) -> Template:
        """Return the example with this name, or whose program has it.

        Raises:
            BadParameter: there is no such example.
        """
        try:
            return cls(name.replace("_", "-"))
        except ValueError:
            raise typer.BadParameter(f"{name!r} is not one of {', '.join(cls)}") from None


README = """\
# {title}

{about}

```console
$ headrace run job.py            # on Spark
$ headrace run job.py --local    # in one process, without Spark
$ pytest                         # the test, without Spark as well (pip install pytest)
```

`job.py` is the program, `test_job.py` its test. The data is generated: to read your own data,
replace the source in `main`.

Made by `headrace init --from {template}`.
"""
SETTINGS = '[tool.pytest.ini_options]\npythonpath = ["."]\n'


def init(
    folder: Annotated[Path, typer.Argument(metavar="NAME", help="The project's folder.")],
    template: Annotated[
        Template,
        typer.Option(
            "--from",
            parser=Template.of,
            metavar=f"<{'|'.join(Template)}>",
            help="The example from which it is made.",
        ),
    ] = Template.SKI_LIFTS,
) -> None:
    """Make a new project NAME: a job that runs, its test, and a README."""
    if folder.exists() and not folder.is_dir():
        raise ConfigurationError(f"{folder} is a file", hint="headrace init NAME, a new folder")
    if folder.is_dir() and any(folder.iterdir()):
        raise ConfigurationError(
            f"the folder {folder} is not empty: nothing was written to it",
            hint="headrace init NAME, a new or empty folder",
        )
    files = project(template, folder.resolve().name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, "utf-8")
    except OSError as error:
        raise ConfigurationError(f"the project cannot be written: {error}") from None
    typer.echo(f"made {folder}: {', '.join(files)}")
    typer.echo(f"  cd {folder}\n  headrace run job.py\n  pytest")


def project(template: Template, title: str) -> dict[str, str]:
    """Create a project's files from a template: their contents by file name."""
    programs, tests = _find_folders()
    program = (programs / f"{template.module}.py").read_text("utf-8")
    test_source = (tests / f"test_{template.module}.py").read_text("utf-8")
    # Names of pictures (.svg) that the job draws are kept.
    headrace_module_name = re.compile(rf"(?:examples/)?\b{template.module}\b(?!\.svg)")
    job = headrace_module_name.sub("job", program)
    modules = {f"{name}.py": programs / f"{name}.py" for name in _imported_modules(job, programs)}
    return {
        "job.py": job,
        "test_job.py": headrace_module_name.sub("job", remove_repository_imports(test_source)),
        **{name: path.read_text("utf-8") for name, path in modules.items()},
        "README.md": README.format(
            title=title, about=_get_description(job), template=template.value
        ),
        "pyproject.toml": SETTINGS,
    }


def _find_folders() -> tuple[Path, Path]:
    """Return the folders of the examples and of their tests, installed or in the checkout."""
    packaged = Path(__file__).parent / "templates"
    if packaged.is_dir():
        return packaged, packaged / "tests"
    checkout = Path(__file__).parents[3]
    return checkout / "examples", checkout / "tests" / "examples"


def _imported_modules(program: str, folder: Path) -> list[str]:
    """Return the modules of the folder that a program imports."""
    imported = {
        node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
        for node in ast.walk(ast.parse(program))
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    return sorted(name for name in imported if name and (folder / f"{name}.py").is_file())


def remove_repository_imports(test_source: str) -> str:
    """Return a test's source without what a new project does not have.

    Imports of the repository's ``tests`` package are removed, and each function that uses one of
    the imported names or one of the removed functions.
    """
    body = ast.parse(test_source).body
    dependent: dict[str, ast.ImportFrom | ast.FunctionDef] = {
        alias.asname or alias.name: node
        for node in body
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "tests"
        for alias in node.names
    }
    functions = [node for node in body if isinstance(node, ast.FunctionDef)]
    # A test may use a removed function as a fixture, so its parameters count, too.
    while found := [
        f for f in functions if f.name not in dependent and dependent.keys() & _list_names(f)
    ]:
        dependent |= {function.name: function for function in found}
    removed_lines: set[int] = set()
    for node in dependent.values():
        decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
        first = min(each.lineno for each in (node, *decorators))
        removed_lines |= set(range(first, (node.end_lineno or first) + 1))
    lines = [line for at, line in enumerate(test_source.splitlines(), 1) if at not in removed_lines]
    return re.sub(r"\n{4,}", "\n\n\n", "\n".join(lines)).rstrip("\n") + "\n"


def _list_names(function: ast.FunctionDef) -> set[str]:
    """Return the names that a function uses, and those of its parameters."""
    nodes = list(ast.walk(function))
    used = {node.id for node in nodes if isinstance(node, ast.Name)}
    return used | {node.arg for node in nodes if isinstance(node, ast.arg)}


def _get_description(program: str) -> str:
    """Return the program's docstring without its code blocks."""
    paragraphs = (ast.get_docstring(ast.parse(program)) or "").split("\n\n")
    return "\n\n".join(text for text in paragraphs if not text.startswith(" "))
