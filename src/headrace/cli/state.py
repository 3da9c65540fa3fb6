"""``headrace state`` and ``headrace compare``: the state of jobs, read by Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli.places import AllowPickles, AsJson, reach

if TYPE_CHECKING:
    from headrace.state import Savepoint, StateDifference

Folder = Annotated[
    str,
    typer.Argument(
        metavar="URL",
        help="The folder of a savepoint, of a restore point, or of a checkpoint that no job runs"
        " on.",
    ),
]
Uid = Annotated[str, typer.Argument(metavar="UID", help="The uid of an operator, or its id.")]
Name = Annotated[str, typer.Argument(metavar="STATE", help="The name of a state.")]
AsText = Annotated[
    bool, typer.Option("--as-text", help="Show keys and values as texts, whatever their types.")
]
_AS_TEXT = "--as-text shows keys and values of several types"
Limit = Annotated[int, typer.Option("--limit", min=1, help="The largest number of rows.")]

app = typer.Typer(help="Show the state of a savepoint, a checkpoint or a restore point.")


@app.command()
def ls(url: Folder, as_json: AsJson = False) -> None:
    """List the states: operator, name, kind and declared type."""
    found = _load(url).states()
    if as_json:
        typer.echo(json.dumps([asdict(state) for state in found], indent=2))
        return
    for state in found:
        typer.echo(
            f"{state.uid or state.operator}  {state.name}  {state.kind}  {state.type or 'no type'}"
        )


@app.command()
def show(
    url: Folder,
    uid: Uid,
    name: Name,
    limit: Limit = 20,
    as_text: AsText = False,
    allow_pickles: AllowPickles = False,
    as_json: AsJson = False,
) -> None:
    """Show the first rows of a state."""
    with _errors_of_spark():
        rows = _load(url, allow_pickles).read(uid, name, as_text=as_text).limit(limit).collect()
    _print(rows, as_json)


@app.command()
def get(
    url: Folder,
    uid: Uid,
    name: Name,
    key: Annotated[
        str,
        typer.Argument(
            metavar="KEY",
            help="The key as JSON, or else as text. An array is a tuple or a list.",
        ),
    ],
    as_text: AsText = False,
    allow_pickles: AllowPickles = False,
    as_json: AsJson = False,
) -> None:
    """Show a state of one key; the exit code is 1 if the key has none."""
    with _errors_of_spark():
        state = _load(url, allow_pickles).read(uid, name, keys=_keys_of(key), as_text=as_text)
        found = state.collect()
    _print(found, as_json)
    if not found:
        raise typer.Exit(1)


@app.command()
def timers(
    url: Folder,
    uid: Uid,
    limit: Limit = 20,
    allow_pickles: AllowPickles = False,
    as_json: AsJson = False,
) -> None:
    """Show the first pending timers of an operator."""
    with _errors_of_spark():
        rows = _load(url, allow_pickles).timers(uid).limit(limit).collect()
    _print(rows, as_json)


@app.command()
def sources(url: Folder, allow_pickles: AllowPickles = False, as_json: AsJson = False) -> None:
    """Show the positions and watermarks of the sources."""
    with _errors_of_spark():
        rows = _load(url, allow_pickles).sources().collect()
    _print(rows, as_json)


@app.command()
def export(
    url: Folder,
    uid: Uid,
    name: Name,
    to: Annotated[str, typer.Option("--to", metavar="FOLDER", help="A new folder.")],
    kind: Annotated[str, typer.Option("--format", help="A format that Spark writes.")] = "parquet",
    as_text: AsText = False,
    allow_pickles: AllowPickles = False,
) -> None:
    """Write a state as a table: Parquet, or another format of Spark's."""
    with _errors_of_spark("--to names a new folder, --format a format of Spark's"):
        state = _load(url, allow_pickles).read(uid, name, as_text=as_text)
        state.write.format(kind).save(to)


@app.command("diff")
def compare(
    first: Annotated[str, typer.Argument(metavar="A", help="A URL, as of `headrace state show`.")],
    second: Annotated[str, typer.Argument(metavar="B", help="The URL to compare A with.")],
    limit: Limit = 20,
    allow_pickles: AllowPickles = False,
    as_json: AsJson = False,
) -> None:
    """Compare two states by key, without timers; the exit code is 1 if they differ.

    At most --limit differences of each operator are printed.
    """
    with _errors_of_spark():
        one, other = (_load(url, allow_pickles) for url in (first, second))
        found = [*one.differences(other, limit)]
    if as_json:
        typer.echo(json.dumps([asdict(each) for each in found], indent=2))
    elif not found:
        typer.echo("both have the same state")
    else:
        for each in found:
            typer.echo(_difference_text(each))
    if found:
        raise typer.Exit(1)


def _load(url: str, allow_pickles: bool = False) -> Savepoint:
    from headrace.state import Savepoint

    reach(url)
    return Savepoint.load(url, allow_pickles=allow_pickles)


@contextmanager
def _errors_of_spark(hint: str | None = None) -> Iterator[None]:
    """Raise errors of Spark and its tasks in one line; ``hint``: if there is no better one."""
    from headrace.runners.spark.state_tables import errors_in_one_line

    with errors_in_one_line(hint, _AS_TEXT):
        yield


def _keys_of(text: str) -> list[Any]:
    """Return the keys that are written as this JSON, or as this text."""
    from headrace.state._encoding import with_tuples

    try:
        found = json.loads(text)
    except ValueError:
        return [text]
    return [with_tuples(found), found] if isinstance(found, list) else [found]


def _print(rows: list[Any], as_json: bool) -> None:
    plain = [row.asDict(recursive=True) for row in rows]
    if as_json:
        typer.echo(json.dumps(plain, indent=2, default=str))
        return
    for row in plain:
        known = {name: value for name, value in row.items() if value is not None}
        typer.echo(json.dumps(known, default=str, ensure_ascii=False))


def _difference_text(found: StateDifference) -> str:
    where = f"key {found.key}"
    where += f" namespace {found.namespace}" if found.namespace is not None else ""
    where += f" at {found.place}" if found.place is not None else ""
    values = f"{_shown(found.first)} -> {_shown(found.second)}"
    return f"{found.uid or found.operator} {found.state} {where}: {values}"


def _shown(value: str | None) -> str:
    return "none" if value is None else value
