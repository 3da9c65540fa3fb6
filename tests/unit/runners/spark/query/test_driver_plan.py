"""How a job's plan reaches the processes beside the driver."""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headrace.runners import program_classes
from headrace.runners.spark.checkpoint.generations import Generation
from headrace.runners.spark.checkpoint.layout import CheckpointFolder
from headrace.runners.spark.query.driver_plan import PlanFolder, QueryPlan, read_plan
from headrace.runners.spark.query.worker import ProgramRef
from headrace.runtime.program import JobProgram
from tests.unit.runtime.programs import job_of


def test_the_program_is_pickled_once_for_all_queries_of_a_job(tmp_path: Path) -> None:
    pickled: list[str] = []

    def dumps(program: JobProgram) -> bytes:
        pickled.append(program.name)
        return program_classes.dumps(program)

    program = job_of()
    folder = PlanFolder(program, dumps)
    moving = QueryPlan(ProgramRef("run", b"p"), CheckpointFolder(str(tmp_path)), 1, ("", 0), b"t")
    going_on = replace(moving, generation=Generation(1, 2, None))
    for query in (moving, going_on):
        plan = read_plan(folder.write_query(query))
        assert plan.query.program_ref == query.program_ref
        assert plan.query.generation == query.generation
        assert (plan.program.name, plan.program.stages) == (program.name, program.stages)
    assert pickled == [program.name]
    path = Path(folder.write_query(going_on))
    folder.remove()
    assert not path.exists()


def test_a_folder_that_is_written_to_while_it_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As by a process of Spark that an interrupt has not reached yet."""
    folder = PlanFolder(job_of(), program_classes.dumps)
    path = Path(folder.stop.folder)

    def written_to(*arguments: Any, **named: Any) -> None:
        raise OSError(errno.ENOTEMPTY, "Directory not empty")

    with monkeypatch.context() as patch:
        patch.setattr(os, "rmdir", written_to)
        folder.remove()
    assert not (path / "program").exists()
