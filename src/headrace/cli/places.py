"""Where checkpoints and savepoints are, as options and arguments of commands say."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from headrace.runners.spark.checkpoint.layout import CheckpointFolder

Dir = Annotated[
    str | None,
    typer.Option("--dir", help="The folder of checkpoints (execution.checkpointing.dir)."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
AllowPickles = Annotated[
    bool,
    typer.Option(
        "--allow-pickles",
        help="Read objects of all classes from a savepoint. This can run its author's code.",
    ),
]
Job = Annotated[
    str, typer.Argument(metavar="JOB", help="The name of a job, or the folder of its checkpoint.")
]


def folder_of_checkpoints(directory: str | None) -> str:
    """Return the folder of checkpoints.

    Raises:
        ConfigurationError: none is given.
    """
    from headrace.common._options import catalogue as options
    from headrace.datastream._build.job_settings import environment_settings
    from headrace.errors import ConfigurationError

    folder = directory or options.read(environment_settings(), options.CHECKPOINT_DIR)
    if not folder:
        raise ConfigurationError(
            "no folder of checkpoints is given",
            hint=f"--dir FOLDER, with the {options.CHECKPOINT_DIR.key} of your programs",
        )
    return folder


def reach(path: str) -> None:
    """Use the environment's access to a URL: HADOOP_CONF_DIR and HEADRACE_SETTINGS."""
    from headrace.common._options import catalogue as options
    from headrace.common._storage.locations import is_url, location_of, use_access
    from headrace.datastream._build.job_settings import environment_settings
    from headrace.runners.hadoop_files import access_without_spark

    if is_url(location_of(path)):
        settings = options.spark_settings(environment_settings().to_dict())
        use_access(access_without_spark(settings, os.environ))


def checkpoint_of(job: str, directory: str | None) -> CheckpointFolder:
    """Return the checkpoint of a job, given its folder, or its name below ``directory``.

    Raises:
        ConfigurationError: there is none.
    """
    from headrace.common._storage.locations import location_of
    from headrace.errors import ConfigurationError
    from headrace.runners.spark.checkpoint.layout import JOB, OWNERS, CheckpointFolder

    if directory is None and "/" in job:
        reach(job)
        folder, base = CheckpointFolder(location_of(job)), None
    else:
        base = folder_of_checkpoints(directory)
        reach(base)
        folder = CheckpointFolder.of_job(base, job)
    files = folder.files
    if any(files.exists(f"{folder.directory}/{name}") for name in (JOB, OWNERS)):
        return folder
    raise ConfigurationError(
        f"there is no checkpoint of a job in {folder.directory}"
        if base is None
        else f"no job {job!r} has a checkpoint in {base}",
        hint="headrace jobs --dir FOLDER lists the jobs that have one",
    )
