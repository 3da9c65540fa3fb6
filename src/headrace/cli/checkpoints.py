"""``headrace checkpoints``: the restore points of a job, and how it goes back to one."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from headrace.cli.places import AsJson, Dir, Job, checkpoint_of

app = typer.Typer(help="List the restore points of a job, and go back to one.")


@app.command()
def ls(job: Job, directory: Dir = None, as_json: AsJson = False) -> None:
    """List the restore points of a job (execution.checkpointing.num-retained)."""
    from headrace.runners.spark.checkpoint.retained import restore_points
    from headrace.runners.ui.text import format_bytes, format_moment

    points = restore_points(checkpoint_of(job, directory))
    if as_json:
        found = [
            {
                "micro-batch": point.micro_batch,
                "made-ms": point.made_ms,
                "size-bytes": point.size_bytes,
                "folder": point.folder,
            }
            for point in points
        ]
        typer.echo(json.dumps(found, indent=2))
        return
    for point in points:
        made, size = format_moment(point.made_ms), format_bytes(point.size_bytes)
        typer.echo(f"{point.micro_batch:>12,}  {made}  {size}")
    if not points:
        typer.echo(f"{job!r} has no restore points")


@app.command()
def restore(
    job: Job,
    micro_batch: Annotated[
        int | None,
        typer.Argument(help="The restore point to take; by default the newest undamaged one."),
    ] = None,
    directory: Dir = None,
) -> None:
    """Put a restore point in the place of the checkpoint of a job that does not run.

    Then start the job as usual: it continues from the restore point. If its sinks have later
    results, the job is refused, unless headrace.restore.write-again is true: then these results
    are written a second time.
    """
    from headrace.runners.spark.checkpoint.owners import owned
    from headrace.runners.spark.checkpoint.retained import restore as restore_point

    folder = checkpoint_of(job, directory)
    with owned(folder):
        point = restore_point(folder, micro_batch)
    typer.echo(f"{job!r} continues after micro-batch {point.micro_batch} when it is started again")
