"""Beside the driver: how far each source is read next, and what each source task does.

An offset is JSON, compared by its text (sorted keys):

    {"epoch": n, "now": ms,
     "cut": {"tasks": n,              into how many tasks this epoch's work is cut at most
             "chunk": records},       how far apart watermarks are
     "sources": {"<id>": {
        "pos":  {split: position},    of the splits that are not finished
        "done": [split],              finished within this epoch
        "idle": [split],              idle now
        "seen": {split: ms},          when the split last moved (only where idleness is asked for),
                                      and later by as long as it had to wait for others since
        "ended": bool}}}

``plan`` follows from two offsets and the split states of the first one alone, so a micro-batch
that is run again is the same micro-batch, processing time included; also on a machine with more
cores.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace.connector import Budget, SplitEnumerator, SplitRange
from headrace.runtime.program import JobProgram, Settings, SourceProgram
from headrace.runtime.source_task import NEW_SPLIT, SourceTaskInput, SplitState, SplitWork

Offset = dict[str, Any]
States = Mapping[tuple[str, str], SplitState]
StateChanges = Mapping[tuple[str, str], SplitState | None]
"""What one source task says of its splits; None for one that is finished."""

LoadStates = Callable[[int], States]
"""Gives the split states at the end of an epoch."""


class Coordinator:
    """Plans micro-batches for all sources of a job. Pure: clock, offsets and states come in."""

    def __init__(
        self,
        job: JobProgram,
        enumerators: Mapping[str, SplitEnumerator],
        load_states: LoadStates,
    ) -> None:
        self._job = job
        # A DataFrame has no enumerator: Spark reads it beside the sources that are planned here.
        self._sources = {s.id: s for s in job.sources if s.id in enumerators}
        self._endless = len(self._sources) < len(job.sources)
        self._enumerators = dict(enumerators)
        self._load_states = load_states
        self._aligned = any(source.alignment for source in job.sources)
        self._cut = {"tasks": max(job.parallelism, 1), "chunk": job.settings.chunk_records}

    @property
    def settings(self) -> Settings:
        """The job's."""
        return self._job.settings

    def initial(self, now_ms: int) -> Offset:
        """The offset before anything was read."""
        sources = {
            str(i): {"pos": {}, "done": [], "idle": [], "ended": False} for i in self._sources
        }
        return {"epoch": 0, "now": now_ms, "sources": sources}

    def latest(self, start: Offset, now_ms: int, budget: Budget | None = None) -> Offset:
        """The offset to read up to next; ``start`` itself where nothing is new.

        ``budget`` defaults to the job's settings and is shared by the sources that still run.
        """
        now_ms = max(now_ms, start["now"])
        settings = self._job.settings
        budget = budget or Budget(settings.max_records, settings.max_bytes)
        running = [i for i in self._sources if not start["sources"][str(i)]["ended"]]
        share = Budget(
            max(budget.max_records // max(len(running), 1), 1),
            max(budget.max_bytes // max(len(running), 1), 1),
        )
        paused = self._paused(start) if self._aligned and start["epoch"] else {}
        sources: dict[str, Any] = dict(start["sources"])
        moved = False
        for source_id in running:
            waiting = paused.get(source_id, frozenset())
            before = start["sources"][str(source_id)]
            after = self._advance(source_id, start, share, now_ms, waiting)
            sources[str(source_id)] = after
            moved = moved or _news(_settled(before)) != _news(after)
        wanted = self._job.needs_ticks and (running or self._endless)
        tick = wanted and now_ms - start["now"] >= settings.tick_ms
        if not moved and not tick:
            return start
        for source_id in self._sources:
            if source_id not in running:
                sources[str(source_id)] = _settled(sources[str(source_id)])
        epoch = start["epoch"] + 1
        return {"epoch": epoch, "now": now_ms, "cut": self._cut, "sources": sources}

    def ended(self, offset: Offset) -> bool:
        """True when every source planned here has ended."""
        return all(source["ended"] for source in offset["sources"].values())

    def _advance(
        self,
        source_id: str,
        start: Offset,
        budget: Budget,
        now_ms: int,
        paused: frozenset[str],
    ) -> dict[str, Any]:
        enumerator, source = self._enumerators[source_id], self._sources[source_id]
        before = start["sources"][str(source_id)]
        positions, begun = before["pos"], start["epoch"] or before["pos"]
        known = dict(positions) if begun else dict(enumerator.initial(now_ms))
        progress = enumerator.advance(known, budget, now_ms, paused)
        after: dict[str, Any] = {
            "pos": dict(progress.positions),
            "done": sorted(progress.finished),
            "idle": [],
            "ended": progress.ended,
        }
        if source.idle_timeout_ms is not None:
            seen = dict(before.get("seen", {}))
            for split, position in after["pos"].items():
                if split not in seen or _text(positions.get(split)) != _text(position):
                    seen[split] = now_ms
                elif split in paused:
                    seen[split] += now_ms - start["now"]  # who must wait is not silent
            after["seen"] = {split: seen[split] for split in after["pos"]}
            after["idle"] = sorted(
                s for s in after["pos"] if now_ms - seen[s] >= source.idle_timeout_ms
            )
        return after

    def _paused(self, offset: Offset) -> dict[str, frozenset[str]]:
        """Splits whose watermark is too far ahead of the slowest of their alignment group."""
        states = self._load_states(offset["epoch"])
        groups: dict[str, list[tuple[str, str, int]]] = {}
        for source in self._sources.values():
            info = offset["sources"][str(source.id)]
            if source.alignment is None or info["ended"]:
                continue
            for split in info["pos"]:
                if split in info["idle"]:
                    continue
                state = states.get((source.id, split), NEW_SPLIT)
                groups.setdefault(source.alignment[0], []).append(
                    (source.id, split, state.watermark)
                )
        paused: dict[str, set[str]] = {}
        for members in groups.values():
            slowest = min(watermark for _, _, watermark in members)
            for source_id, split, watermark in members:
                alignment = self._sources[source_id].alignment
                if alignment is not None and watermark > slowest + alignment[1]:
                    paused.setdefault(source_id, set()).add(split)
        return {source_id: frozenset(splits) for source_id, splits in paused.items()}

    def plan(self, start: Offset, end: Offset) -> list[SourceTaskInput]:
        """The source tasks of the micro-batch between two offsets, in the order of senders."""
        states = self._load_states(start["epoch"])
        cut = end.get("cut", self._cut)  # older versions did not write it down
        works: list[SplitWork] = []
        for source in self._sources.values():
            key = str(source.id)
            works.extend(
                self._split_works(source, start["sources"][key], end["sources"][key], states)
            )
        # A receiver must know of every new split before any other split makes it advance: what
        # the first task sends is read first.
        opening = [
            SplitWork(work.source, work.split, announce=True) for work in works if work.announce
        ]
        tasks = [tuple(task) for task in _spread(works, cut["tasks"], self._sources)]
        if opening:
            tasks.insert(0, tuple(opening))
        tasks = tasks or [()]
        inputs = [
            SourceTaskInput(sender, end["epoch"], end["now"], work, chunk_records=cut["chunk"])
            for sender, work in enumerate(tasks)
        ]
        if self._job.needs_ticks:
            tick = SourceTaskInput(len(inputs), end["epoch"], end["now"], (), ticks=True)
            inputs.append(tick)
        return inputs

    def _split_works(
        self,
        source: SourceProgram,
        start: Mapping[str, Any],
        end: Mapping[str, Any],
        states: States,
    ) -> list[SplitWork]:
        if start["ended"]:
            return []
        finished = frozenset(end["done"])
        ranges: dict[str, list[SplitRange]] = {}
        enumerator = self._enumerators[source.id]
        for split_range in enumerator.ranges(start["pos"], end["pos"], finished):
            ranges.setdefault(split_range.split, []).append(split_range)
        works = []
        splits = dict.fromkeys([*start["pos"], *end["pos"], *end["done"], *ranges])
        for split in splits:
            idle = _changed(split in start["idle"], split in end["idle"])
            new = split not in start["pos"]
            work = SplitWork(
                source.id,
                split,
                tuple(ranges.get(split, ())),
                announce=new,
                finished=split in finished,
                idle=idle,
                state=states.get((source.id, split), NEW_SPLIT),
            )
            if work.ranges or work.announce or work.finished or work.idle is not None:
                works.append(work)
        return works

    def committed(self, offset: Offset) -> None:
        """Everything up to this offset is in the sinks."""
        for source_id, enumerator in self._enumerators.items():
            enumerator.committed(offset["sources"][str(source_id)]["pos"])

    def close(self) -> None:
        """Close the enumerators."""
        for enumerator in self._enumerators.values():
            enumerator.close()


def merge_states(
    before: States, parts: Sequence[StateChanges]
) -> dict[tuple[str, str], SplitState]:
    """The split states after a micro-batch: those before it, overwritten by the tasks' parts.

    ``parts`` are in the order of senders. Where two tasks read one split, the one that got further
    counts, of two that got as far the later. A split that a task calls finished is forgotten.
    """
    merged: dict[tuple[str, str], SplitState] = {}
    finished: set[tuple[str, str]] = set()
    for part in parts:
        for key, state in part.items():
            if state is None:
                finished.add(key)
            elif key not in merged or state.watermark >= merged[key].watermark:
                merged[key] = state
    return {key: state for key, state in {**before, **merged}.items() if key not in finished}


def _settled(source: Mapping[str, Any]) -> dict[str, Any]:
    """A source's part of an offset with nothing happening in it."""
    return {**source, "done": []}


def _news(source: Mapping[str, Any]) -> str:
    """What of a source's part of an offset is worth a micro-batch, if it changed."""
    return _text({key: value for key, value in source.items() if key != "seen"})


def _changed(before: bool, after: bool) -> bool | None:
    return None if before == after else after


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _spread(
    works: Sequence[SplitWork], tasks: int, sources: Mapping[str, SourceProgram]
) -> list[list[SplitWork]]:
    """Cut the work into at most ``tasks`` runs of about equal size, keeping its order.

    Only ranges of a split whose watermarks may be made in several places are parted.
    """
    pieces: list[tuple[SplitWork, int]] = []
    for work in works:
        size = sum(split_range.records for split_range in work.ranges)
        if len(work.ranges) < 2 or sources[work.source].one_task_per_split:
            pieces.append((work, size))
            continue
        last = len(work.ranges) - 1
        for index, split_range in enumerate(work.ranges):
            piece = SplitWork(
                work.source,
                work.split,
                (split_range,),
                announce=work.announce and index == 0,
                finished=work.finished and index == last,
                idle=work.idle,
                state=work.state,
            )
            pieces.append((piece, split_range.records))
    total = sum(size for _, size in pieces)
    runs: list[list[SplitWork]] = [[] for _ in range(tasks)]
    done = 0
    for work, size in pieces:
        # The task in whose share the middle of the piece lies.
        index = min(int((done + size / 2) * tasks / total), tasks - 1) if total else 0
        done += size
        run = runs[index]
        if run and run[-1].split == work.split and run[-1].source == work.source:
            run[-1] = _joined(run[-1], work)
        else:
            run.append(work)
    return [run for run in runs if run]


def _joined(first: SplitWork, second: SplitWork) -> SplitWork:
    return SplitWork(
        first.source,
        first.split,
        (*first.ranges, *second.ranges),
        announce=first.announce or second.announce,
        finished=second.finished,
        idle=first.idle,
        state=first.state,
    )
