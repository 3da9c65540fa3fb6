"""``headrace savepoint``, ``stop``, ``rescale`` and ``savepoints``."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli.places import AsJson, Dir, Job, checkpoint_of, reach

if TYPE_CHECKING:
    from headrace.runners.spark.checkpoint.layout import CheckpointFolder
    from headrace.runners.spark.checkpoint.requests import Answer, Request, RequestKind
    from headrace.runtime.savepoint.manifest import Manifest

To = Annotated[
    str | None,
    typer.Option(
        "--to",
        metavar="URL",
        help="The folder below which the savepoint is written; by default the job's"
        " execution.checkpointing.savepoint-dir.",
    ),
]
Timeout = Annotated[
    float, typer.Option("--timeout", metavar="SECONDS", help="How long to wait for the job.")
]
Folder = Annotated[str, typer.Argument(metavar="URL", help="The folder of a savepoint.")]

_POLL_SECONDS = 0.1

app = typer.Typer(help="List, show and remove savepoints.")


def savepoint(
    job: Job,
    to: To = None,
    directory: Dir = None,
    timeout: Timeout = 600.0,
    as_json: AsJson = False,
) -> None:
    """Take a savepoint of JOB while it runs, and print the savepoint's folder.

    How long the job waited for it goes to standard error, and is in the JSON.
    """
    from headrace.runners.spark.checkpoint.requests import RequestKind

    answer = _ask(checkpoint_of(job, directory), RequestKind.SAVEPOINT, to, False, timeout)
    pause_ms = answer.pause_ms
    if as_json:
        typer.echo(json.dumps({"savepoint": answer.savepoint, "pause-ms": pause_ms}, indent=2))
        return
    typer.echo(answer.savepoint)
    if pause_ms is not None:
        typer.echo(f"the job waited {pause_ms:,} ms for it", err=True)


def stop(
    job: Job,
    with_savepoint: Annotated[
        bool, typer.Option("--savepoint", help="Take a savepoint after the last micro-batch.")
    ] = False,
    to: To = None,
    drain: Annotated[
        bool,
        typer.Option("--drain", help="End event time first, so that all windows and timers fire."),
    ] = False,
    directory: Dir = None,
    timeout: Timeout = 600.0,
) -> None:
    """Stop JOB after its micro-batch, and print the folder of the savepoint, if one is taken.

    Without --drain, the job goes on from its checkpoint, or from the savepoint, when it is started
    again.
    """
    from headrace.errors import ConfigurationError
    from headrace.runners.spark.checkpoint.requests import RequestKind

    if to is not None and not with_savepoint:
        raise ConfigurationError("--to says where a savepoint goes", hint="give --savepoint too")
    kind = RequestKind.STOP_WITH_SAVEPOINT if with_savepoint else RequestKind.STOP
    answer = _ask(checkpoint_of(job, directory), kind, to, drain, timeout)
    if answer.savepoint is not None:
        typer.echo(answer.savepoint)


def rescale(
    job: Job,
    parallelism: Annotated[
        int, typer.Option("--parallelism", "-p", min=1, metavar="N", help="The new parallelism.")
    ],
    directory: Dir = None,
    timeout: Timeout = 600.0,
) -> None:
    """Give JOB another parallelism while it runs, and wait until it runs with the new one.

    JOB has no output while its state moves to other partitions. It keeps the new parallelism when
    it is started again, until parallelism.default in its configuration changes.
    """
    from headrace.runners.spark.checkpoint.requests import RequestKind, new_request

    request = new_request(RequestKind.RESCALE, parallelism=parallelism)
    _wait_for(checkpoint_of(job, directory), request, timeout)


def _ask(
    folder: CheckpointFolder, kind: RequestKind, to: str | None, drain: bool, timeout_s: float
) -> Answer:
    from headrace.common._storage.locations import is_url, location_of
    from headrace.runners.spark.checkpoint.requests import new_request

    target = None if to is None else location_of(to)
    if target is None or is_url(target) or os.path.isabs(target):
        return _wait_for(folder, new_request(kind, target, drain), timeout_s)
    # The driver has a working directory of its own.
    answer = _wait_for(folder, new_request(kind, os.path.abspath(target), drain), timeout_s)
    found = answer.savepoint
    return answer if found is None else replace(answer, savepoint=os.path.relpath(found))


def _wait_for(folder: CheckpointFolder, request: Request, timeout_s: float) -> Answer:
    """Ask the driver of a job, and wait for its answer.

    Raises:
        JobError: the job does not run, ends, refuses, or does not answer in time.
    """
    from headrace.errors import JobError
    from headrace.runners.spark.checkpoint import requests
    from headrace.runners.spark.checkpoint.listing import is_running

    where = {"checkpoint": folder.directory}
    if is_running(folder) is False:
        raise JobError(
            "the job is not running",
            where=where,
            hint="start the job, and repeat the command; all its state is in its checkpoint",
        )
    store = folder.signals
    requests.ask(store, request)
    deadline = time.monotonic() + timeout_s
    while True:
        answer = requests.answer_of(store, request.id)
        if answer is not None and answer.status is not requests.RequestStatus.RUNNING:
            break
        if is_running(folder) is False:
            answer = requests.answer_of(store, request.id)  # perhaps it has answered at its end
            if answer is None or answer.status is requests.RequestStatus.RUNNING:
                raise JobError("the job ended before it answered", where=where)
            break
        if time.monotonic() > deadline:
            seen = "answered" if answer is None else "completed"
            raise JobError(
                f"the driver of the job has not {seen} the request after {timeout_s:g} s",
                where=where,
                hint="its micro-batch may be long, or its machine may be lost (headrace jobs);"
                " --timeout SECONDS waits longer",
            )
        time.sleep(_POLL_SECONDS)
    if answer.status is requests.RequestStatus.FAILED:
        raise JobError(f"the job refused the request: {answer.error}", where=where)
    return answer


@app.command()
def ls(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="The folder of savepoints.")],
    as_json: AsJson = False,
) -> None:
    """List the savepoints in FOLDER, the oldest first."""
    from headrace.runners.savepoint_folders import stored_savepoints
    from headrace.runners.ui.text import format_bytes, format_moment

    reach(folder)
    found = stored_savepoints(folder)
    if as_json:
        typer.echo(json.dumps([_summary(url, manifest) for url, manifest in found], indent=2))
        return
    for url, manifest in found:
        size = format_bytes(manifest.size_bytes)
        made = format_moment(manifest.created_ms)
        typer.echo(f"{made}  {manifest.job}  micro-batch {_last_batch(manifest)}  {size}  {url}")
    if not found:
        typer.echo(f"there are no savepoints in {folder}")


@app.command()
def show(url: Folder, as_json: AsJson = False) -> None:
    """Show what a savepoint has: operators, states, records, and positions of sources."""
    from headrace.common._types.data import type_text
    from headrace.runners.ui.text import format_bytes, format_moment
    from headrace.runtime.savepoint.folder import read_manifest

    reach(url)
    manifest = read_manifest(url)
    summary = _summary(url, manifest)
    if as_json:
        typer.echo(json.dumps(summary, indent=2))
        return
    for name, value in (
        ("job", manifest.job),
        ("micro-batch", _last_batch(manifest)),
        ("taken", format_moment(manifest.created_ms)),
        ("size", format_bytes(summary["size-bytes"])),
        ("key groups", f"{manifest.max_parallelism:,}"),
    ):
        typer.echo(f"{name + ':':<13}{value}")
    for operator in summary["operators"]:
        uid = operator["uid"] or "none"
        records, timers = operator["states-count"], operator["timers-count"]
        counts = f"{records:,} records of state, {timers:,} timers"
        typer.echo(f"operator {operator['name']!r} (uid={uid}): {counts}")
        if operator["description"]:
            typer.echo(f"  {operator['description']}")
        for state in operator["states"]:
            declared = "no type" if state["type"] is None else type_text(state["type"])
            typer.echo(f"  {state['name']} ({state['kind']}): {declared}")
    for source, positions in summary["positions"].items():
        typer.echo(f"source {source}:")
        for split, position in positions.items():
            typer.echo(f"  {split}: {json.dumps(position)}")
    if summary["pending"]:
        typer.echo(f"pending data of sinks: {summary['pending']:,} pieces")


@app.command()
def dispose(
    url: Folder,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove a savepoint: its files, and nothing else that is in its folder."""
    from headrace.runners.savepoint_folders import dispose_savepoint
    from headrace.runtime.savepoint.folder import read_manifest

    reach(url)
    manifest = read_manifest(url)
    if not yes:
        what = f"the savepoint of {manifest.job!r} after micro-batch {_last_batch(manifest)}"
        typer.confirm(f"Remove {what}?", abort=True)
    dispose_savepoint(url)


def _last_batch(manifest: Manifest) -> str:
    """Return the last micro-batch in a savepoint; one that was made from tables has none."""
    return f"{manifest.batch_id - 1:,}" if manifest.batch_id else "none"


def _summary(url: str, manifest: Manifest) -> dict[str, Any]:
    from headrace.runtime.coordination.offset import Offset
    from headrace.runtime.savepoint.savepoint import split_part_name

    counts: dict[tuple[str, str | None], int] = {}
    for name, part in manifest.parts.items():
        table, operator, _ = split_part_name(name)
        counts[table, operator] = counts.get((table, operator), 0) + part.count
    offset = Offset.from_json(manifest.offset)
    return {
        "savepoint": url,
        "job": manifest.job,
        "micro-batch": manifest.batch_id - 1,
        "taken-ms": manifest.created_ms,
        "size-bytes": manifest.size_bytes,
        "key-groups": manifest.max_parallelism,
        "operators": [
            {
                "id": entry.id,
                "name": entry.name,
                "uid": entry.uid,
                "description": entry.description,
                "key-groups": entry.key_groups,
                "states-count": counts.get(("states", entry.id), 0),
                "timers-count": counts.get(("timers", entry.id), 0),
                "states": [
                    {"name": name, "kind": kind.kind, "type": kind.type}
                    for name, kind in entry.kinds().items()
                ],
            }
            for entry in manifest.operators
        ],
        "positions": {key: source.end_positions() for key, source in offset.sources.items()},
        "pending": counts.get(("sinks", None), 0),
    }
