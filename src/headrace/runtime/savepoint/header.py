"""The headers of an operator's tasks in a savepoint: one per operator, not one per key group.

A header is a dictionary. Known fields: ``channels`` (input channel to ``(watermark, idle)``),
``watermark``, ``now`` (ms), ``finished``, ``nodes`` (node to its data). Channels and nodes may be
values of any type that can be pickled. Every key group gets every watermark, so the groups have
equal values. If they differ, the value is used with which nothing fires too early:

    watermark, channels   the minimum; a channel is idle if it is idle in every group
    now                   the maximum: the clock does not go back
    finished              true if every group has finished
    nodes                 from the group whose node has the lowest watermark
    inputs                the minimum for each input
    anything else         from the first group
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

from headrace.common.watermark_strategy import MAX_WATERMARK, MIN_WATERMARK
from headrace.runtime.channel import ALL_TASKS, Channel
from headrace.runtime.savepoint.records import TaskRecord, WatermarkRecord, decode, encode

Header = Mapping[str, Any]

ChannelState = tuple[int, bool]
"""Watermark (ms), idle."""

NODES = "nodes"


def find_group_exchange(channel: Sequence[Any]) -> str | None:
    """Return the exchange that a group's channel belongs to; None for other channels."""
    exchange, _, group = Channel(*channel)
    return exchange if group is not None and group != ALL_TASKS else None


def export_headers(
    operator: str, headers: Iterable[Header]
) -> tuple[list[WatermarkRecord], list[TaskRecord]]:
    """Convert the headers of an operator's key groups, in order, to records.

    Groups that were never run have an empty header, which is ignored.
    """
    used = [header for header in headers if header]
    watermarks = [
        WatermarkRecord(operator, encode((*channel,)), *state)
        for channel, state in _merged_channels(used).items()
    ]
    known = [header["watermark"] for header in used if "watermark" in header]
    if known:
        watermarks.append(WatermarkRecord(operator, None, min(known), False))
    tasks = [
        TaskRecord(operator, NODES, encode(node), encode(state))
        for node, state in _merged_nodes(used).items()
    ]
    fields: dict[str, Any] = {}
    for header in used:
        for field, value in header.items():
            fields.setdefault(field, value)
    if "now" in fields:
        fields["now"] = max(header["now"] for header in used if "now" in header)
    if "finished" in fields:
        fields["finished"] = all(header.get("finished", False) for header in used)
    if "inputs" in fields:
        reached = [header["inputs"] for header in used if "inputs" in header]
        fields["inputs"] = tuple(map(min, zip(*reached, strict=True)))
    for field in ("channels", "watermark", NODES):
        fields.pop(field, None)
    tasks += [TaskRecord(operator, field, None, encode(value)) for field, value in fields.items()]
    return watermarks, tasks


def import_header(
    watermarks: Iterable[WatermarkRecord],
    tasks: Iterable[TaskRecord],
    input_channels: Sequence[Any] = (),
    exchange_of: Callable[[Any], Hashable | None] = find_group_exchange,
) -> dict[str, Any]:
    """Return the initial header of every key group of an operator; empty without records.

    ``input_channels``: the operator's input channels in the current program. Some represent key
    groups upstream, whose number may have changed: see ``map_channels``.
    """
    header: dict[str, Any] = {}
    channels: dict[Any, ChannelState] = {}
    for record in watermarks:
        if record.channel is None:
            header["watermark"] = record.watermark_ms
        else:
            channels[decode(record.channel)] = (record.watermark_ms, record.idle)
    nodes: dict[Any, Any] = {}
    for task in tasks:
        if task.name is None:
            header[task.field] = decode(task.value)
        else:
            nodes[decode(task.name)] = decode(task.value)
    if nodes:
        header[NODES] = nodes
    if channels or header:
        header["channels"] = map_channels(channels, input_channels, exchange_of)
    return header


def map_channels(
    channels: Mapping[Any, ChannelState],
    input_channels: Sequence[Any],
    exchange_of: Callable[[Any], Hashable | None] = find_group_exchange,
) -> dict[Any, ChannelState]:
    """Map the channels of an earlier program to the inputs of this one.

    If the number of groups of an exchange has changed, old watermarks do not belong to new groups.
    New groups start without a watermark, unless all old ones have ended; the operator's own
    watermark stays. The channels of a new input start with the minimum watermark.
    """
    before, now = _by_exchange(channels, exchange_of), _by_exchange(input_channels, exchange_of)
    found = {channel: state for channel, state in channels.items() if exchange_of(channel) is None}
    for channel in now.pop(None, []):
        found.setdefault(channel, (MIN_WATERMARK, False))
    before.pop(None, None)
    for exchange, members in now.items():
        old = before.get(exchange, [])
        if set(old) == set(members):
            found.update((channel, channels[channel]) for channel in members)
            continue
        reached = [channels[c][0] for c in old if channels[c][0] > MIN_WATERMARK]
        least = min(reached, default=MIN_WATERMARK)
        begins = MAX_WATERMARK if least == MAX_WATERMARK else MIN_WATERMARK
        found.update((channel, (begins, False)) for channel in members)
    return found


def _by_exchange(
    channels: Iterable[Any], exchange_of: Callable[[Any], Hashable | None]
) -> dict[Hashable | None, list[Any]]:
    found: dict[Hashable | None, list[Any]] = {}
    for channel in channels:
        found.setdefault(exchange_of(channel), []).append(channel)
    return found


def _merged_channels(headers: Sequence[Header]) -> dict[Any, ChannelState]:
    merged: dict[Any, ChannelState] = {}
    for header in headers:
        for channel, (watermark, idle) in header.get("channels", {}).items():
            known = merged.get(channel, (watermark, idle))
            merged[channel] = (min(known[0], watermark), known[1] and idle)
    return merged


def _merged_nodes(headers: Sequence[Header]) -> dict[Any, Any]:
    merged: dict[Any, Any] = {}
    for header in headers:
        for node, state in header.get(NODES, {}).items():
            if node not in merged or _watermark_of(state) < _watermark_of(merged[node]):
                merged[node] = state
    return merged


def _watermark_of(node_state: Any) -> int:
    """Return the watermark in what a node remembers: by convention the second of a tuple."""
    if isinstance(node_state, tuple) and len(node_state) > 1 and isinstance(node_state[1], int):
        return node_state[1]
    return MIN_WATERMARK
