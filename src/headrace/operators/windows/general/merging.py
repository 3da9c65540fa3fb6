"""The windows of a key that may grow together, and where each keeps its records."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from headrace.common._windows import TimeWindow, namespace_of, window_of

WindowMapping = dict[Any, Any]
"""From the namespace of each window in flight to the namespace that has its records."""

OnMerge = Callable[[Any, list[Any], Any, list[Any]], None]
"""Takes the window that results, the windows that it was made of, the namespace of its records,
and the namespaces of records that are to be moved there."""


class _MergeCollector:
    """Takes down what an assigner wants to be merged."""

    def __init__(self) -> None:
        self.merges: list[tuple[Any, Collection[Any]]] = []

    def merge(self, to_be_merged: Iterable[Any], merge_result: Any) -> None:
        """Merge some windows into one."""
        self.merges.append((merge_result, set(to_be_merged)))


def add_window(mapping: WindowMapping, assigner: Any, new: Any, on_merge: OnMerge) -> Any:
    """The window in flight that holds ``new``; windows are merged where the assigner wants it.

    A merged window goes on with the records' namespace of the first window that it was made of,
    in the order in which they came: only the others' records have to be moved.
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
        # a window equal to the new one is in flight where both are meant
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
    """The same where windows that overlap or touch are merged: no two in flight do.

    It costs a third of asking the assigner.
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
