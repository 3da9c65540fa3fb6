"""The command, and its output."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.check.catalogue import ACCEPTED, DIFFERS, UNSUPPORTED, WORKS
from headrace.errors import ConfigurationError

if TYPE_CHECKING:
    from headrace.cli.check.uses import Use

_MARKS = {
    WORKS: "[green]works[/]",
    ACCEPTED: "[dim]accepted[/]",
    DIFFERS: "[yellow]differs[/]",
    UNSUPPORTED: "[bold red]does not work[/]",
}
_IN_WORDS = {UNSUPPORTED: "does not work", ACCEPTED: "accepted"}


def check(
    programs: Annotated[
        list[Path], typer.Argument(metavar="PROGRAM...", help="Programs, Python files.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with all names.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Also list names that work.")] = False,
) -> None:
    """List the names in PROGRAM, written for PyFlink or Headrace, that do not work or differ.

    Nothing is run. The program's own modules are read as well. The exit status is 1 if the program
    uses a name that does not work.
    """
    from headrace.cli.check.uses import uses_of

    found: set[Use] = set()
    for program in programs:
        if not program.is_file():
            raise ConfigurationError(
                f"there is no program at {program}", hint="headrace check PROGRAM.py …"
            )
        try:
            found.update(uses_of(program))
        except SyntaxError as error:
            raise ConfigurationError(
                f"{error.filename} cannot be read: {error.msg}", where={"line": str(error.lineno)}
            ) from None
    uses = sorted(found)
    works = all(use.status != UNSUPPORTED for use in uses)
    if as_json:
        rows = [{**asdict(use), "status": _IN_WORDS.get(use.status, use.status)} for use in uses]
        typer.echo(json.dumps({"works": works, "uses": rows}, indent=2))
    else:
        _show([use for use in uses if everything or use.status != WORKS], uses)
    if not works:
        raise typer.Exit(1)


def _show(shown: Sequence[Use], uses: Sequence[Use]) -> None:
    from rich.console import Console
    from rich.markup import escape

    console = Console(highlight=False, soft_wrap=True)
    places = [f"{os.path.relpath(use.file)}:{use.line}" for use in shown]
    width = max(map(len, places), default=0)
    for place, use in zip(places, shown, strict=True):
        text = f"{escape(place):<{width}}  {_MARKS[use.status]}  {escape(use.name)}"
        console.print(text + (f": {escape(use.reason)}" if use.reason else ""))
    counts = Counter(use.status for use in {(u.name, u.status): u for u in uses}.values())
    parts = [f"{counts[WORKS]} work", f"{counts[ACCEPTED]} are accepted and need no effect here"]
    parts += [f"{counts[DIFFERS]} differ", f"{counts[UNSUPPORTED]} do not work"]
    if shown:
        console.print()
    console.print(f"Names used: {', '.join(parts)}.", markup=False)
