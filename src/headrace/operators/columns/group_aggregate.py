"""GROUP BY: a row of results for each key, which changes with each row of the input.

The changes are Flink's with mini-batches off: the first row of a key inserts the results; each
later one retracts them and gives new ones, if they differ; with the last row they are deleted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from headrace.common.changelog_mode import ChangelogMode
from headrace.operators.columns.accumulator import Aggregated
from headrace.operators.columns.aggregate_spec import AggregatesSpec
from headrace.operators.columns.group_rows import RowGroupOperator
from headrace.operators.columns.group_vectors import VectorGroupOperator
from headrace.operators.columns.local_aggregate import LocalAggregateSpec
from headrace.operators.columns.vectors import VectorAggregates
from headrace.runtime.operator import (
    Combiner,
    Emits,
    Operator,
    Traits,
)
from headrace.runtime.user_function import UserFunction


@dataclass(frozen=True)
class GroupAggregateSpec(AggregatesSpec):
    """``keys``: columns of the input. ``schema``: of the input; ``result``: of keys and results.

    ``retracts``: whether the input may have retractions. ``updates_before``: whether something
    after it needs the rows that are replaced. ``folds``: whether only the last change of each key
    in a micro-batch is given. ``gets_partials``: senders pre-aggregate rows. ``ttl_ms``: how long
    the state of a key is kept after its last change; 0: without end. ``only_inserts``: the results
    of a key do not change.
    """

    keys: tuple[str, ...]
    aggregates: tuple[Aggregated, ...]
    schema: Any
    result: Any
    retracts: bool = False
    updates_before: bool = True
    folds: bool = False
    gets_partials: bool = False
    ttl_ms: int = 0
    only_inserts: bool = False
    emits: Emits = "each"
    traits = Traits(keyed=True, state=True, takes_columns=True, gives_columns=True)
    kind = "group-aggregate"
    label = "GroupAggregate"

    def gives(self, inputs: Sequence[ChangelogMode | None]) -> ChangelogMode | None:
        """Return retractions, or upserts; inserts in a batch.

        A group is deleted with its last row, so only where rows may be retracted.
        """
        if self.emits == "last" or self.only_inserts:
            return ChangelogMode.insert_only()
        mode = ChangelogMode.all() if self.retracts else ChangelogMode.updates()
        return mode if self.updates_before else mode.without_updates_before()

    def combiner(self, selector: UserFunction, key_type: Any, by_time: bool) -> Combiner | None:
        """Return the first of two phases, where not every change is given."""
        if not self.folds and self.emits == "each":
            return None
        if self._vectors() is None:
            return None
        local = LocalAggregateSpec(self.keys, self.aggregates, self.schema, self.retracts)
        return Combiner(local, replace(self, gets_partials=True), sends_partials=False)

    def build(self) -> Operator:
        vectors = self._vectors()
        return RowGroupOperator(self) if vectors is None else VectorGroupOperator(self, vectors)

    def _vectors(self) -> VectorAggregates | None:
        return VectorAggregates.of(self.aggregates, self.schema, self.retracts)
