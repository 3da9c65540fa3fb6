"""``headrace jobs``: lists the jobs that have a checkpoint in a folder."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli.places import AsJson, Dir, folder_of_checkpoints, reach

if TYPE_CHECKING:
    from headrace.connector import Pending
    from headrace.runners.spark.checkpoint.listing import StoredJob

app = typer.Typer(help="List the jobs that have a checkpoint.", invoke_without_command=True)

_SPLITS = 50
_MEANINGS = {
    "died": "its process was killed or has crashed; started again, it continues",
    "running or ended": "it is of another machine, and has not given its checkpoint back",
}
"""What states mean that are not clear from their name."""


@app.callback()
def jobs(context: typer.Context, directory: Dir = None, as_json: AsJson = False) -> None:
    """List the jobs that have a checkpoint: in --dir, or in the folder of HEADRACE_SETTINGS."""
    if context.invoked_subcommand is not None:
        context.obj = directory
        return
    found = _read(directory)
    if as_json:
        typer.echo(json.dumps([job.to_json() for job in found], indent=2))
    elif not found:
        typer.echo(f"no job has a checkpoint in {folder_of_checkpoints(directory)}")
    else:
        for line in _table(found):
            typer.echo(line)


@app.command()
def show(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The name of a job.")],
    directory: Dir = None,
    as_json: AsJson = False,
) -> None:
    """Show one job: the position of each split, the watermarks, and the operators with state."""
    from headrace.errors import ConfigurationError

    place = directory or context.obj
    found = _read(place)
    job = next((each for each in found if each.name == name), None)
    if job is None:
        names = ", ".join(each.name for each in found) or "none"
        raise ConfigurationError(
            f"no job {name!r} has a checkpoint in {folder_of_checkpoints(place)}",
            hint=f"there are: {names}",
        )
    if as_json:
        typer.echo(json.dumps(job.to_json(), indent=2))
        return
    for line in _details(job):
        typer.echo(line)


def _read(directory: str | None) -> list[StoredJob]:
    """Return the jobs of the folder.

    Raises:
        ConfigurationError: none is given, or it cannot be read.
    """
    from headrace.errors import ConfigurationError
    from headrace.runners.spark.checkpoint.listing import stored_jobs

    folder = folder_of_checkpoints(directory)
    reach(folder)
    try:
        return stored_jobs(folder)
    except OSError as error:
        raise ConfigurationError(
            f"the folder of checkpoints cannot be read: {error}", where={"folder": folder}
        ) from error


def _table(found: Sequence[StoredJob]) -> list[str]:
    from headrace.runners.ui.text import NONE, format_bytes, format_duration

    now_ms = time.time_ns() // 1_000_000
    head = (
        *("name", "state", "micro-batch", "ago", "behind", "unread", "splits", "size"),
        *("host", "program"),
    )
    rows = [head]
    for job in found:
        splits = sum(map(len, (job.positions or {}).values()))
        rows.append(
            (
                job.name,
                job.state,
                NONE if job.micro_batch is None else f"{job.micro_batch:,}",
                NONE if job.at_ms is None else format_duration(now_ms - job.at_ms),
                format_duration(job.lag_ms),
                _unread_text(job.unread.values()),
                f"{splits:,}",
                format_bytes(job.size_bytes),
                job.host or NONE,
                job.program[:12] or NONE,
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = (text.ljust(width) for text, width in zip(row, widths, strict=True))
        lines.append("  ".join(cells).rstrip())
    return lines


def _unread_text(unread: Iterable[Pending]) -> str:
    """Return the unread input of sources: bytes only of those that do not know records."""
    from headrace.runners.ui.text import NONE, format_bytes, format_count

    left = [*unread]
    records = [each.records for each in left if each.records is not None]
    sizes = [
        each.size_bytes for each in left if each.records is None and each.size_bytes is not None
    ]
    parts = [format_count(sum(records))] if records else []
    parts += [format_bytes(sum(sizes))] if sizes else []
    return " and ".join(parts) or NONE


def _details(job: StoredJob) -> list[str]:
    from headrace.runners.ui.text import format_bytes, format_duration, format_moment

    facts: list[tuple[str, Any]] = [
        ("name", job.name),
        ("state", ": ".join(filter(None, (job.state, _MEANINGS.get(job.state))))),
        ("folder", job.folder),
        ("size", format_bytes(job.size_bytes)),
        ("program", job.program),
        ("host", f"{job.host}, process {job.pid}" if job.host else None),
        ("micro-batch", None if job.micro_batch is None else f"{job.micro_batch:,}"),
        ("planned", format_moment(job.at_ms) if job.at_ms is not None else None),
        ("behind", format_duration(job.lag_ms) if job.lag_ms is not None else None),
        ("problem", job.problem),
    ]
    lines = [f"{name + ':':<13}{value}" for name, value in facts if value]
    lines += [f"{'state of:':<13}{part}" for part in job.stateful]
    for restart in job.restarts:
        what = "started again" if restart.of_driver else "restarted"
        reason = restart.reason.strip().partition("\n")[0]
        lines.append(f"{what} {format_moment(restart.at_ms)} on {restart.host}: {reason}")
    for source, splits in (job.positions or {}).items():
        watermark = (job.watermarks or {}).get(source)
        left = f", unread {_unread_text([job.unread[source]])}" if source in job.unread else ""
        lines.append(f"source {source}: watermark {format_moment(watermark)}{left}")
        lines += [f"  {split}: {json.dumps(at)}" for split, at in [*splits.items()][:_SPLITS]]
        if len(splits) > _SPLITS:
            lines.append(f"  and {len(splits) - _SPLITS} more (--json has all)")
    return lines
