"""Watermark alignment: which splits must wait for slower ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from headrace.runtime.coordination.offset import Offset
from headrace.runtime.program import SourceProgram
from headrace.runtime.tasks.source_task import NEW_SPLIT, SplitState

States = Mapping[tuple[Any, str], SplitState]
"""By source id and split."""

LoadStates = Callable[[int], States]
"""Gives the split states at the end of an epoch."""


class WatermarkAlignment:
    """Finds splits to pause in the next micro-batch (Flink's watermark alignment)."""

    def __init__(self, sources: Iterable[SourceProgram], load_states: LoadStates) -> None:
        self._sources = [source for source in sources if source.alignment is not None]
        self._load_states = load_states

    def find_paused_splits(self, offset: Offset) -> Mapping[Any, frozenset[str]]:
        """Return the splits, by source id, that are too far ahead of their alignment group."""
        if not self._sources or not offset.epoch:
            return {}
        states = self._load_states(offset.epoch)
        groups: dict[str, list[tuple[SourceProgram, str, int]]] = {}
        for source in self._sources:
            info = offset.source(source.id)
            if source.alignment is None or info.ended:
                continue
            for split in info.positions:
                if split not in info.idle:
                    state = states.get((source.id, split), NEW_SPLIT)
                    members = groups.setdefault(source.alignment[0], [])
                    members.append((source, split, state.watermark))
        paused: dict[Any, set[str]] = {}
        for members in groups.values():
            slowest = min(watermark for _, _, watermark in members)
            for source, split, watermark in members:
                if source.alignment is not None and watermark > slowest + source.alignment[1]:
                    paused.setdefault(source.id, set()).add(split)
        return {source_id: frozenset(splits) for source_id, splits in paused.items()}
