"""Plans micro-batches, on the driver's machine: how far to read, and the work of each source task.

``plan`` depends only on two offsets and the split states at the first one. So a repeated
micro-batch is the same: it has the same tasks and processing time, even on a machine with more
cores, and even if the source would give another answer now.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from headrace.connector import Budget, JsonValue, Pending, SplitEnumerator, SplitRange
from headrace.runtime.channel import ALL_SPLITS
from headrace.runtime.coordination.alignment import LoadStates, WatermarkAlignment
from headrace.runtime.coordination.alignment import States as States
from headrace.runtime.coordination.distribution import distribute_work
from headrace.runtime.coordination.offset import Offset, SourceProgress, WorkLimits, source_key
from headrace.runtime.coordination.progress_rules import (
    check_range,
    first_positions,
    resumed_positions,
    validate_progress,
)
from headrace.runtime.coordination.stops import (
    check_not_drained,
    drained_progress,
    progress_to_record,
    sources_to_resume,
    stop_changed,
)
from headrace.runtime.job_time import JobTime
from headrace.runtime.program import JobProgram, Settings, SourceProgram
from headrace.runtime.tasks.source_task import NEW_SPLIT, SourceTaskInput, SplitState, SplitWork

StateChanges = Mapping[tuple[str, str], SplitState | None]
"""The new states of a source task's splits, by source id and split; None if it is finished."""

MAX_SHOWN_SPLITS = 2000
"""A source with more splits, such as files, reports no single splits: it would take too long."""


class Coordinator:
    """Plans the micro-batches of all sources of a job; time and offsets are arguments."""

    def __init__(
        self,
        job: JobProgram,
        enumerators: Mapping[Any, SplitEnumerator],
        load_states: LoadStates,
        alignment: WatermarkAlignment | None = None,
    ) -> None:
        self._job = job
        # A DataFrame has no enumerator: Spark reads it beside the sources that are planned here.
        self._sources = {s.id: s for s in job.sources if s.id in enumerators}
        self._has_dataframes = len(self._sources) < len(job.sources)
        self._enumerators = dict(enumerators)
        self._load_states = load_states
        self._alignment = alignment or WatermarkAlignment(self._sources.values(), load_states)
        self._work_limits = WorkLimits(max(job.parallelism, 1), job.settings.chunk_records)
        self._checked = False
        self._suspended: set[Any] | None = None
        """The sources that an earlier run stopped and this run resumes; None: not known yet."""

    @property
    def settings(self) -> Settings:
        """The settings of the job."""
        return self._job.settings

    def initial(self, now_ms: int) -> Offset:
        """Return the offset before the first micro-batch, without any source."""
        return Offset(0, now_ms, now_ms, self._work_limits, {})

    def latest(
        self, start: Offset, time: JobTime, budget: Budget | None = None, task_records: int = 1
    ) -> Offset:
        """Return the end offset of the next micro-batch; return ``start`` itself if nothing is new.

        ``budget``: the limits of the micro-batch, shared by the running sources; by default those
        of the job's settings. ``task_records``: see ``WorkLimits``. Sources, idleness and ticks use
        the monotonic time.

        Raises:
            JobError: an enumerator's answer breaks a rule of its contract.
            CheckpointError: a source is to be continued, but an earlier run was drained.
        """
        if not self._checked:
            check_not_drained(self._sources.values(), start)
            self._checked = True
        now_ms = max(time.now_ms, start.now_ms)
        monotonic_ms = max(time.monotonic_ms, start.monotonic_ms)
        settings = self._job.settings
        budget = budget or Budget(settings.max_records, settings.max_bytes)
        resuming = {s.id for s in self._sources.values() if self._must_resume(s, start)}
        running = [
            s for s in self._sources.values() if s.id in resuming or not start.source(s.id).ended
        ]
        share = Budget(
            max(budget.max_records // max(len(running), 1), 1),
            max(budget.max_bytes // max(len(running), 1), 1),
        )
        paused = self._alignment.find_paused_splits(start)
        sources = {source_key(i): start.source(i).carried_over() for i in self._sources}
        # A run that continues a stopped run plans a micro-batch even without records: it records
        # the new stopping positions. If nothing is new, the run ends with this micro-batch.
        moved = bool(resuming) or self._must_announce(start)
        for source in running:
            waiting = paused.get(source.id, frozenset())
            after = self._advance_source(source, start, share, monotonic_ms, waiting)
            sources[source_key(source.id)] = after
            moved = moved or after.differs_from(start.source(source.id))
            self._sources_to_resume(start).discard(source.id)
        passed_ms = monotonic_ms - start.monotonic_ms
        due = (running or self._has_dataframes) and passed_ms >= self._pause_ms
        if not moved and not due:
            return start
        limits = replace(self._work_limits, task_records=task_records)
        identity = self._job.identity
        return Offset(start.epoch + 1, now_ms, monotonic_ms, limits, sources, identity)

    @property
    def _pause_ms(self) -> float:
        """After how long (ms) a micro-batch is planned although there is nothing to read."""
        job = self._job
        ticks_ms = job.settings.tick_ms if job.needs_ticks else math.inf
        return min(ticks_ms, math.inf if job.commit_interval_ms is None else job.commit_interval_ms)

    def drained(self, start: Offset, time: JobTime) -> Offset:
        """Return the end offset of a last micro-batch, which ends event time where sources are."""
        sources = {source_key(id_): drained_progress(start.source(id_)) for id_ in self._sources}
        return Offset(
            start.epoch + 1,
            max(time.now_ms, start.now_ms),
            max(time.monotonic_ms, start.monotonic_ms),
            self._work_limits,
            sources,
            self._job.identity,
        )

    def has_ended(self, offset: Offset) -> bool:
        """Return True if every source planned here has ended, and none is to be continued."""
        return all(
            offset.source(source.id).ended and not self._must_resume(source, offset)
            for source in self._sources.values()
        )

    def is_suspended(self, offset: Offset) -> bool:
        """Return True if a source has stopped at a position from which another run continues."""
        return any(offset.source(source_id).suspended for source_id in self._sources)

    def _must_announce(self, start: Offset) -> bool:
        """Return whether a micro-batch must be planned to announce the splits to receivers.

        Necessary in the first micro-batch of a changed program with a DataFrame: Spark plans its
        rows, and without the announcement these rows alone would decide the event time.
        """
        return self._has_dataframes and start.epoch > 0 and start.program != self._job.identity

    def _must_resume(self, source: SourceProgram, start: Offset) -> bool:
        """Return whether this run continues a source that an earlier run stopped."""
        if source_key(source.id) not in start.sources:
            return False
        return source.id in self._sources_to_resume(start) or stop_changed(
            source, start.source(source.id)
        )

    def _sources_to_resume(self, start: Offset) -> set[Any]:
        """Return the sources to wake, as the first offset of this run says."""
        if self._suspended is None:
            self._suspended = sources_to_resume(self._sources.values(), start)
        return self._suspended

    def _advance_source(
        self,
        source: SourceProgram,
        start: Offset,
        budget: Budget,
        monotonic_ms: int,
        paused_splits: frozenset[str],
    ) -> SourceProgress:
        """Ask a source's enumerator how far to read next, and find its idle splits.

        ``monotonic_ms``: the job's monotonic time, for idleness and enumerators. ``paused_splits``:
        splits that watermark alignment keeps at their positions.
        """
        enumerator, before = self._enumerators[source.id], start.source(source.id)
        if self._must_resume(source, start):
            before = _resume_source(source, before, enumerator, monotonic_ms)
        asked = source_key(source.id) in start.sources
        initial = {} if asked else first_positions(source, enumerator.initial(monotonic_ms))
        # A copy: what the enumerator does with it must not change the offset.
        known = {s: _copy_json(at) for s, at in (*before.positions.items(), *initial.items())}
        answer = enumerator.advance(known, budget, monotonic_ms, paused_splits)
        after = validate_progress(source, before, initial, answer, paused_splits)
        after = progress_to_record(source, before, after, self._job.settings.drain)
        if source.idle_timeout_ms is None:
            return after
        seen = dict(before.seen_ms)
        for split, position in after.positions.items():
            if split not in seen or before.positions.get(split) != position:
                seen[split] = monotonic_ms
            elif split in paused_splits:
                # a split that must wait is not idle
                seen[split] += monotonic_ms - start.monotonic_ms
        seen = {split: seen[split] for split in after.positions}
        idle = frozenset(s for s in seen if monotonic_ms - seen[s] >= source.idle_timeout_ms)
        return replace(after, seen_ms=seen, idle=idle)

    def plan(self, start: Offset, end: Offset) -> list[SourceTaskInput]:
        """Return the source tasks of the micro-batch between two offsets, ordered by sender."""
        states = self._load_states(start.epoch)
        # A changed program has other receivers, so every split is announced like a new one.
        program_changed = not start.program == end.program == self._job.identity
        split_works: list[SplitWork] = []
        announcements: list[SplitWork] = []
        for source in self._sources.values():
            before, after = start.source(source.id), end.source(source.id)
            found: list[SplitWork] = []
            if not before.ended or before.suspended:
                found = self._plan_split_work(source, before, after, states, program_changed)
            # Receivers would wait for ever: new ones for a source that ended before, and any for
            # one that never had a split.
            ends = after.ended and not after.suspended
            if not found and ends and (program_changed or before.suspended or not before.ended):
                found = [SplitWork(source.id, ALL_SPLITS, finished=True)]
            elif program_changed and start.program and source_key(source.id) in start.sources:
                # A receiver that an earlier program had may wait for a split that ended since.
                announcements.append(SplitWork(source.id, ALL_SPLITS, announce=True))
            split_works.extend(found)
        # A receiver must know every new split before another split advances its watermark. So the
        # first task announces them: its output is read first.
        announcements += [
            SplitWork(work.source, work.split, announce=True)
            for work in split_works
            if work.announce
        ]
        task_count = end.work_limits.tasks_for(sum(work.records for work in split_works))
        tasks = [tuple(task) for task in distribute_work(split_works, task_count, self._sources)]
        if announcements:
            tasks.insert(0, tuple(announcements))
        tasks = tasks or [()]
        chunk_records = end.work_limits.chunk_records
        inputs = [
            SourceTaskInput(sender, end.epoch, end.now_ms, work, chunk_records=chunk_records)
            for sender, work in enumerate(tasks)
        ]
        if self._job.needs_ticks and tasks == [()]:
            inputs = [replace(inputs[0], ticks=True)]
        elif self._job.needs_ticks:
            tick = SourceTaskInput(len(inputs), end.epoch, end.now_ms, (), ticks=True)
            inputs.append(tick)
        return inputs

    def reporting_plan(self, start: Offset, end: Offset) -> list[SourceTaskInput]:
        """Return the plan, whose first task also reports the unread records of each source.

        They are not part of the plan: they may differ when a micro-batch is repeated.
        """
        first, *others = self.plan(start, end)
        return [replace(first, pending=self.pending(end)), *others]

    def pending_by_split(self, offset: Offset) -> dict[str, dict[str, Pending]]:
        """Return the unread records of each split of an offset, by source id and split.

        Sources with more than ``MAX_SHOWN_SPLITS`` are left out.
        """
        return {
            source_id: {
                split: enumerator.pending({split: position})
                for split, position in offset.source(source_id).positions.items()
            }
            for source_id, enumerator in self._enumerators.items()
            if len(offset.source(source_id).positions) <= MAX_SHOWN_SPLITS
        }

    def pending(self, offset: Offset) -> dict[str, Pending]:
        """Return the unread records of each source that knows them."""
        found = {
            source_id: self._enumerators[source_id].pending(offset.source(source_id).positions)
            for source_id in self._sources
        }
        return {source_id: left for source_id, left in found.items() if left != Pending()}

    def _plan_split_work(
        self,
        source: SourceProgram,
        start: SourceProgress,
        end: SourceProgress,
        states: States,
        program_changed: bool,
    ) -> list[SplitWork]:
        """Return the work on each split of a source between two offsets, without empty work.

        ``program_changed``: the receivers are those of another program: all splits are announced.
        """
        known = {**start.positions, **start.stopped}
        splits = dict.fromkeys([*known, *end.started, *end.positions, *end.finished])
        # Splits that stay at their stop are not read, and the enumerator is not asked.
        still = {split for split, at in start.stopped.items() if end.stopped.get(split) == at}
        begins = {**known, **end.started}
        read = {split: at for split, at in begins.items() if split not in still}
        ends = {split: at for split, at in end.end_positions().items() if split not in still}
        last = frozenset(end.finished) | (end.stopped.keys() - still)
        ranges: dict[str, list[SplitRange]] = {}
        for split_range in self._enumerators[source.id].ranges(read, ends, last):
            check_range(source, split_range, splits)
            ranges.setdefault(split_range.split, []).append(split_range)
        split_works = []
        for split in splits:
            work = SplitWork(
                source.id,
                split,
                tuple(ranges.get(split, ())),
                announce=program_changed or split in end.started,
                finished=split in end.finished,
                idle=_idleness_change(
                    split in start.idle and not program_changed, split in end.idle
                ),
                state=states.get((source.id, split), NEW_SPLIT),
                resends_watermark=program_changed and split in known,
            )
            if work.ranges or work.announce or work.finished or work.idle is not None:
                split_works.append(work)
        return split_works

    def report_committed(self, offset: Offset) -> None:
        """Tell the enumerators that everything up to this offset is committed."""
        for source_id, enumerator in self._enumerators.items():
            enumerator.committed(offset.source(source_id).end_positions())

    def close(self) -> None:
        """Close the enumerators."""
        for enumerator in self._enumerators.values():
            enumerator.close()


def _resume_source(
    source: SourceProgram, before: SourceProgress, enumerator: SplitEnumerator, monotonic_ms: int
) -> SourceProgress:
    """Return the positions from which the enumerator continues a stopped source."""
    stopped_at = {
        split: _copy_json(at) for split, at in {**before.positions, **before.stopped}.items()
    }
    answer = enumerator.resume(stopped_at, monotonic_ms)
    positions = resumed_positions(source, before, answer)
    return replace(before.carried_over(), positions=positions, stopped={})


def merge_states(
    states: States, changes: Sequence[StateChanges]
) -> dict[tuple[str, str], SplitState]:
    """Return the split states after a micro-batch: those before it, updated by its tasks.

    ``changes`` are in the order of senders. If two tasks read one split, the state of the one that
    read further counts; of equal ones, the later. A split that a task calls finished is left out.
    """
    merged: dict[tuple[str, str], SplitState] = {}
    finished: set[tuple[str, str]] = set()
    for task_changes in changes:
        for key, state in task_changes.items():
            if state is None:
                finished.add(key)
            elif key not in merged or state.watermark >= merged[key].watermark:
                merged[key] = state
    return {key: state for key, state in {**states, **merged}.items() if key not in finished}


def source_watermarks(states: States) -> dict[str, int]:
    """Return the lowest watermark (ms) over the splits of each source that has some, by its id."""
    lowest: dict[str, int] = {}
    for (source_id, _), state in states.items():
        lowest[source_id] = min(lowest.get(source_id, state.watermark), state.watermark)
    return lowest


def _copy_json(position: JsonValue) -> JsonValue:
    return json.loads(json.dumps(position)) if isinstance(position, list | dict) else position


def _idleness_change(before: bool, after: bool) -> bool | None:
    return None if before == after else after
