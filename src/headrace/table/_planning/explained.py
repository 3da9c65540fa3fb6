"""EXPLAIN: plans, and their job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headrace.datastream._build import execution
from headrace.sql.explain import explain, explain_sink
from headrace.sql.rel import Rel
from headrace.sql.rules.advice import advice_of
from headrace.sql.rules.state_growth import growing_rows, growing_state
from headrace.table._planning.planner import Planner
from headrace.table._planning.targets import PlannedInsert

if TYPE_CHECKING:
    from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment

_CHANGELOG_MODE = "CHANGELOG_MODE"


class PlanTexts:
    """Makes the texts of plans. ``details``: of EXPLAIN, such as CHANGELOG_MODE."""

    def __init__(self, env: StreamExecutionEnvironment, planner: Planner) -> None:
        self._env = env
        self._planner = planner

    def of_query(self, rel: Rel, details: Sequence[str] = ()) -> str:
        """Return the plan of a relation, and of its job."""
        lowering = self._planner.lowering()
        rel = lowering.planned_query(rel)
        plan = explain(rel, lowering.mode if _CHANGELOG_MODE in details else None)
        with self._env._job_apart():
            sinks = (lowering.lower(rel)._collecting_sink(),)
            return self._text([plan], [rel], sinks, details)

    def of_inserts(self, inserts: Sequence[PlannedInsert], details: Sequence[str] = ()) -> str:
        """Return the plans of INSERTs, and of their common job."""
        lowering = self._planner.lowering()
        sinks = self._planner.sinks(lowering)
        mode = lowering.mode if _CHANGELOG_MODE in details else None
        planned = sinks.plans_of_job(inserts)
        plans = [explain_sink(each.target.full_name, each.rel, mode) for each in planned]
        kept = [(each.target.full_name, each.rel) for each in planned if each.changes.materialized]
        with self._env._job_apart():
            for each in planned:
                sinks.add(each)
            rels = [each.rel for each in planned]
            return self._text(plans, rels, self._env._list_sinks(), details, kept)

    def _text(
        self,
        plans: Sequence[str],
        rels: Sequence[Rel],
        sinks: execution.Sinks,
        details: Sequence[str],
        kept: Sequence[tuple[str, Rel]] = (),
    ) -> str:
        """Return the plans, warnings, the plan of the job, and the details that were asked for.

        ``kept``: tables whose sinks keep the rows of each primary key, with these rows.
        """
        configuration = self._env._configuration
        title, shown = "Plan", [*plans]
        if "PLAN_ADVICE" in details:
            title = "Optimized Physical Plan With Advice"
            advice = [f"advice[{n}]: {each}" for n, each in enumerate(self._advice(rels), 1)]
            shown.append("\n".join(advice) or "No available advice...")
        parts = [(title, "\n\n".join(shown))]
        parts += [("Warning", each) for each in self._warnings(rels, kept)]
        parts.append(("Job", execution.explain(sinks, configuration)))
        if "JSON_EXECUTION_PLAN" in details:
            plan = execution.execution_plan(sinks, configuration)
            parts.append(("Physical Execution Plan", plan))
        return "\n\n".join(f"== {name} ==\n{text}" for name, text in parts)

    def _advice(self, rels: Sequence[Rel]) -> list[str]:
        """Return what may make the plans faster."""
        options = self._planner.options
        if options.batch:
            return []
        found = (each for rel in rels for each in advice_of(rel, mini_batch=options.mini_batch))
        return [*dict.fromkeys(found)]

    def _warnings(self, rels: Sequence[Rel], kept: Sequence[tuple[str, Rel]]) -> list[str]:
        """Return warnings about state that grows without end."""
        options = self._planner.options
        if options.batch:
            return []
        found = [each for rel in rels for each in growing_state(rel, options.ttl_ms)]
        for table, rel in kept:
            found += growing_rows(table, rel, options.ttl_ms)
        return found
