"""From plans to the streams and sinks of one environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headrace.common.changelog_mode import ChangelogMode
from headrace.datastream.data_stream import DataStream
from headrace.sql.rel import Rel
from headrace.table._planning.lowering.lowering import Lowering
from headrace.table._planning.options import PlanningOptions
from headrace.table._planning.sinks import TableSinks
from headrace.table._planning.streams import ProgramStreams, TableStreams
from headrace.table._planning.targets import PlannedInsert

if TYPE_CHECKING:
    from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment


class Planner:
    """Makes streams and sinks; each job has its own operators, and the program has others."""

    def __init__(self, env: StreamExecutionEnvironment, streams: ProgramStreams) -> None:
        self._env = env
        self._streams = streams
        self._of_program: Lowering | None = None

    @property
    def options(self) -> PlanningOptions:
        """How plans become streams, as it is set now."""
        return PlanningOptions.of(self._env._configuration)

    def lowering(self) -> Lowering:
        """Return the lowering of a new job."""
        options = self.options
        return Lowering(TableStreams(self._env, self._streams, options), options)

    def sinks(self, lowering: Lowering) -> TableSinks:
        """Return what makes the sinks of a job."""
        return TableSinks(lowering, self.options)

    def add_sinks(self, inserts: Sequence[PlannedInsert]) -> list[str]:
        """Add sinks to a new job, and return the names of their tables."""
        sinks = self.sinks(self.lowering())
        for plan in sinks.plans_of_job(inserts):
            sinks.add(plan)
        return [each.target.full_name for each in inserts]

    def attach(self, inserts: Sequence[PlannedInsert]) -> None:
        """Add sinks to the program; they share operators with its streams."""
        sinks = self.sinks(self._shared())
        for plan in [sinks.plan(each) for each in inserts]:
            sinks.add(plan)

    def stream_of(self, rel: Rel) -> tuple[DataStream, ChangelogMode]:
        """Return the rows of a plan, and which kinds they have.

        Streams of one program share operators: equal plans are one stream.
        """
        lowering = self._shared()
        rel = lowering.planned(rel)
        return lowering.lower(rel), lowering.mode(rel)

    def _shared(self) -> Lowering:
        if self._of_program is None:
            self._of_program = self.lowering()
        return self._of_program
