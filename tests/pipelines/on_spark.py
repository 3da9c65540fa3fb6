"""Generated programs as jobs on Spark, checkpoints and files wherever a URL says.

Several programs are one job, their results named and collected together: a job costs seconds.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headrace.common._storage.locations import file_system_of
from headrace.common.configuration import Configuration
from headrace.common.job_status import JobStatus
from headrace.common.serialization import Encoder
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import FileSink
from headrace.errors import JobError

from .draws import Draws
from .generated import Built, Program, drawn_program
from .special import of_text

PROGRAMS = 6
VERSIONS = 3


def named(stream: DataStream, name: tuple[int, str]) -> DataStream:
    return stream.map(lambda value: (name, value))


def joined(
    drawn: Sequence[Program],
    settings: Mapping[str, str],
    changes: Sequence[Sequence[int]] = (),
    inputs: str | None = None,
) -> tuple[list[Built], DataStream]:
    """The programs in one environment, and their results in one stream.

    ``changes``: what differs in the n-th program (see ``Program.build``), in turn. ``inputs``: the
    folder of the files that the programs read (see ``write_inputs``).
    """
    env = StreamExecutionEnvironment(
        Configuration.from_dict(
            {
                "parallelism.default": "2",
                "headrace.watermark.chunk-records": "3",
                "headrace.state.page-bytes": "200",
                **settings,
            }
        )
    )
    turns = changes or [()]
    built = [
        program.build(env, turns[number % len(turns)], folder=inputs and _input_of(inputs, number))
        for number, program in enumerate(drawn)
    ]
    streams = [
        named(stream, (number, name))
        for number, one in enumerate(built)
        for name, stream in one.streams().items()
    ]
    return built, streams[0].union(*streams[1:])


def write_inputs(drawn: Sequence[Program], inputs: str) -> None:
    """Write what the programs read to files in a folder."""
    for number, program in enumerate(drawn):
        program.write(_input_of(inputs, number))


def _input_of(inputs: str, number: int) -> str:
    return f"{inputs}/program-{number}"


Results = list[dict[str, list[Any]]]
"""The records of each program's streams by name."""


def by_name(programs: int, found: Any) -> Results:
    results: Results = [{} for _ in range(programs)]
    for (number, name), value in found:
        results[number].setdefault(name, []).append(value)
    return results


def check(built: Sequence[Built], results: Results, batch: bool, where: Any = None) -> None:
    """Compare results with the model; a batch only where it must give the same."""
    for number, (one, found) in enumerate(zip(built, results, strict=True)):
        for name, flow in one.ends().items():
            if flow.timely or not batch:
                flow.check(found.get(name, []), (where, number, name))
        assert not any(name.startswith("late") for name in found), (where, number)


def results_in(folder: str, programs: int) -> Results:
    """The results that a job has published in a folder of files."""
    files = file_system_of(folder)
    paths = [file.path for file in files.walk(folder) if "/part-" in file.path]
    # A slow run publishes files every minute: the last record of a key is in the last of them.
    paths.sort(key=lambda path: int(path.rpartition("-")[2]))
    lines = [line for path in paths for line in (files.read(path) or b"").decode().splitlines()]
    return by_name(programs, map(of_text, lines))


@dataclass(frozen=True)
class ChangedPrograms:
    """A job of several programs that is stopped and changed.

    Fields:
        most_records: in a micro-batch.
        versions: the parallelism of each version, and what differs in it (see ``joined``).
        cuts: after how many micro-batches each version but the last is stopped.
        key_groups: of each version but the first, if it goes on from a savepoint of the one before;
            None if it continues from its checkpoint.
    """

    programs: list[Program]
    most_records: int
    versions: list[tuple[int, list[list[int]]]]
    cuts: list[int]
    key_groups: list[int | None]

    def there_and_back(self) -> ChangedPrograms:
        """The same by savepoints, first to another parallelism, and then back."""
        first, second = (parallelism for parallelism, _ in self.versions[:2])
        between = second if second != first else first % 4 + 1
        parallelism = [first if number % 2 == 0 else between for number in range(VERSIONS)]
        return replace(
            self,
            versions=[
                (number, changes)
                for number, (_, changes) in zip(parallelism, self.versions, strict=True)
            ],
            key_groups=[groups or 5 for groups in self.key_groups],
        )

    def run(self, base: str, settings: Mapping[str, str], inputs: str | None = None) -> None:
        """Run the versions one after another, and check the files that they write in turn."""
        savepoint, checkpoint, key_groups = "", 0, 128
        for number, (parallelism, changes) in enumerate(self.versions):
            if savepoint:
                checkpoint, key_groups = number, self.key_groups[number - 1] or key_groups
            further = {
                "pipeline.name": "changed",
                "pipeline.max-parallelism": str(key_groups),
                "parallelism.default": str(parallelism),
                "execution.checkpointing.dir": f"{base}/checkpoint-{checkpoint}",
                "execution.state-recovery.path": savepoint,
                "headrace.source.max-records-per-batch": str(self.most_records),
            }
            built, together = joined(self.programs, {**settings, **further}, changes, inputs)
            if number == len(self.cuts):
                run_until(together, f"{base}/out")
                continue
            by_savepoint = self.key_groups[number] is not None
            saved = f"{base}/saved" if by_savepoint else None
            savepoint = run_until(together, f"{base}/out", self.cuts[number], saved) or ""
        check(built, results_in(f"{base}/out", len(self.programs)), batch=False, where=self)


def drawn_changed(draws: Draws, programs: int = PROGRAMS) -> ChangedPrograms:
    """So many programs, in versions with any changes."""

    def version(draws: Draws) -> tuple[int, list[list[int]]]:
        parallelism = draws.integer(1, 4)
        changes = draws.several(
            lambda draws: draws.several(lambda draws: draws.integer(0, 5), 1, 3), 1, 3
        )
        return parallelism, changes

    def key_groups(draws: Draws) -> int | None:
        number = draws.integer(1, 9)
        return number if number <= 5 else None

    return ChangedPrograms(
        draws.several(drawn_program, programs, programs),
        draws.integer(20, 40),
        draws.several(version, VERSIONS, VERSIONS),
        draws.several(lambda draws: draws.integer(1, 2), VERSIONS - 1, VERSIONS - 1),
        draws.several(key_groups, VERSIONS - 1, VERSIONS - 1),
    )


def run_until(
    results: DataStream, folder: str, micro_batches: int | None = None, saved: str | None = None
) -> str | None:
    """Write a job's results to files: to its end, or stop it once it has done so many more.

    ``saved``: stop it with a savepoint below this folder. Returns the savepoint; None if there is
    none, as the job has ended before.
    """
    rows = FileSink.for_row_format(folder, Encoder.simple_string_encoder()).build()
    results.sink_to(rows)
    client = results.get_execution_environment().execute_async()
    end = client.get_job_execution_result()
    first = None
    while micro_batches is not None and not end.done():
        count = client.get_accumulators().result().get("microBatches")
        if count is not None:
            first = count if first is None else first
            if count - first + 1 >= micro_batches:
                if saved is not None:
                    stopped = client.stop_with_savepoint(False, saved)
                    if isinstance(stopped.exception(), JobError):
                        break  # it had ended
                    return stopped.result()
                client.cancel().result()
                assert client.get_job_status().result() in (JobStatus.CANCELED, JobStatus.FINISHED)
                return None
        time.sleep(0.02)
    end.result()
    return None
