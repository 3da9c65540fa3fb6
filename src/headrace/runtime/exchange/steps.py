"""Steps that put a record into the buffer of its receiver."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from headrace.common.types import Row
from headrace.errors import HeadraceError, PlanError, UnstableKeyError
from headrace.runtime.exchange.writer import ExchangeWriter
from headrace.runtime.immutability import ATOMIC_TYPES, all_atomic, is_immutable
from headrace.runtime.keys.key_groups import (
    KeyGroups,
    class_has_no_stable_hash,
    int_key_group,
    key_group_of,
)
from headrace.runtime.keys.serialized_key import SerializedKey, contains_maps, sort_map_entries
from headrace.runtime.loops import Step
from headrace.runtime.operator import NodeProgram
from headrace.runtime.program import ExchangeProgram, SinkProgram
from headrace.runtime.record_copies import copy_record, serialize_record


class ValueWithKey:
    """A partial result of a combiner, with the key of its records.

    The key is fitted to its declared type; the receiver gets the value alone.
    """

    __slots__ = ("key", "value")

    def __init__(self, key: Any, value: Any) -> None:
        self.key, self.value = key, value


def exchange_step(writer: ExchangeWriter, program: ExchangeProgram, unshared: bool = False) -> Step:
    """Return a step that sends each record to its receiver; ``unshared``: see ``_buffer_lines``."""
    if program.mode == "broadcast":
        return one_receiver_step(writer, unshared)  # one buffer, whose block goes to all
    make = key_step if program.mode == "key" else subtask_step
    return make(writer, program, unshared)


def key_step(writer: ExchangeWriter, program: ExchangeProgram, unshared: bool = False) -> Step:
    """Return a step that sends a record to its key group; ``unshared``: see ``_buffer_lines``."""
    assert program.selector is not None
    select = program.selector.as_callable()

    groups, serialized_types = KeyGroups(program.groups), set[type]()

    def key_and_group(key: Any) -> tuple[Any, int]:
        """Return a key that nobody else can change, and its key group, from its hash alone.

        Only keys of types that cannot go by their form are looked up among known ones: others may
        be equal to one of these.
        """
        if type(key) in serialized_types:
            key = SerializedKey.of(key)
            return key, groups[key]
        group = key_group_of(key, groups.count)
        # A Row, by itself or within a tuple, may still be changed by its owner.
        if type(key) is Row:
            return copy_record(key), group
        # Pickle would refuse an enum declared within a function.
        return key if is_immutable(key) else copy.deepcopy(key), group

    def serialize_key(key: Any) -> SerializedKey:
        """Return the serialized form of a key without a stable hash."""
        if class_has_no_stable_hash(key):
            serialized_types.add(type(key))
        return SerializedKey.of(key)

    def unstable_key_error(key: Any, error: UnstableKeyError) -> HeadraceError:
        where = {"stream": f"{program.name}, built at {program.site}", **error.where}
        return UnstableKeyError(error.message, where=where, hint=error.hint)

    lines = (
        "node = $node",
        *(_KEY_OF_PARTIAL if program.combined else ("$key = $key_of(value)",)),
        f"if type($key) is int: $group = {int_key_group('$key', program.groups)}",
        "else:",
        "    try:",
        "        if type($key) in $atoms or type($key) is tuple and $all_atomic(map(type, $key)):",
        "            $group = $groups[$key]",
        "        else: $key, $group = $key_and_group($key)",
        "    except TypeError:",
        "        try:",
        "            $key = $serialize_key($key)",
        "        except $unstable as $error:",
        "            raise $unstable_key_error($key, $error) from None",
        "        $group = $groups[$key]",
        "$buffer = $buffers[$group]",
        "if $buffer is None: $buffer = $open_buffer($group)",
        *_buffer_lines(writer, unshared),
        "$buffer.keys.append($key)",
    )
    names = {
        "node": exchange_node(program),
        "key_of": typed_selector(select, program.key_type),
        "value_with_key": ValueWithKey,
        "key_and_group": key_and_group,
        "serialize_key": serialize_key,
        "unstable": UnstableKeyError,
        "unstable_key_error": unstable_key_error,
        "groups": groups,
        "buffers": writer.buffers,
        "open_buffer": writer.buffer,
        "estimate_size": writer.send_context.estimate_size,
        **_BUFFER_NAMES,
    }
    return Step(lines, names, size_check=(_SIZE_CHECK,))


_KEY_OF_PARTIAL = (
    "if type(value) is $value_with_key: $key, value = value.key, value.value",
    "else: $key = $key_of(value)",
)
_SIZE_CHECK = "if len($values) >= $buffer.estimate_at: $estimate_size($buffer)"
_BUFFER_NAMES = {
    "atoms": ATOMIC_TYPES,
    "all_atomic": all_atomic,
    "is_immutable": is_immutable,
    "serialize_record": serialize_record,
}


def _buffer_lines(writer: ExchangeWriter, unshared: bool) -> tuple[str, ...]:
    """Return the lines that put a record into ``$buffer``.

    ``unshared``: no other consumer has the record, so it is not copied until the block is encoded.
    """
    append = (
        "$values = $buffer.values",
        "$values.append(value)",
        "$buffer.timestamps.append(timestamp)",
    )
    if writer.send_context.object_reuse:
        return append
    if unshared:
        writer.may_be_mutable = True
        return ("if $buffer.copied: value = $serialize_record(value, $buffer.layouts)", *append)
    return (
        "if $buffer.copied: value = $serialize_record(value, $buffer.layouts)",
        "elif type(value) not in $atoms and not ("
        "type(value) is tuple and $all_atomic(map(type, value)) or $is_immutable(value)):",
        "    $buffer.copy_values()",
        "    value = $serialize_record(value, $buffer.layouts)",
        *append,
    )


def typed_selector(select: Callable[[Any], Any], key_type: Any) -> Callable[[Any], Any]:
    """Return a selector whose keys fit their declared type; None: no type is declared."""
    if key_type is None:
        return select
    coerce = key_type.coercer()
    if coerce is None:
        return select
    if contains_maps(key_type):
        return lambda value: sort_map_entries(coerce(select(value)))
    return lambda value: coerce(select(value))


def subtask_step(writer: ExchangeWriter, program: ExchangeProgram, unshared: bool = False) -> Step:
    """Return a step that sends a record to a subtask, as the exchange's mode says."""
    groups = program.groups

    def partition_error(group: Any) -> PlanError:
        return PlanError(
            f"the partitioner returned {group!r}; there are partitions 0 to {groups - 1}",
            where={"stream": f"{program.name}, built at {program.site}"},
        )

    lines = (
        "node = $node",
        "$group = $select_subtask(value)",
        "if not 0 <= $group < $groups: raise $partition_error($group)",
        "$buffer = $buffers[$group]",
        "if $buffer is None: $buffer = $open_buffer($group)",
        *_buffer_lines(writer, unshared and program.partitioner is None),
    )
    names = {
        "node": exchange_node(program),
        "select_subtask": _subtask_selector(writer, program),
        "groups": groups,
        "partition_error": partition_error,
        "buffers": writer.buffers,
        "open_buffer": writer.buffer,
        "estimate_size": writer.send_context.estimate_size,
        **_BUFFER_NAMES,
    }
    return Step(lines, names, size_check=(_SIZE_CHECK,))


def _subtask_selector(writer: ExchangeWriter, program: ExchangeProgram) -> Callable[[Any], int]:
    send_context, groups = writer.send_context, program.groups
    if program.mode == "custom":
        assert program.partitioner is not None and program.selector is not None
        partition, select = program.partitioner.as_callable(), program.selector.as_callable()
        return lambda value: int(partition(select(value), groups))
    if program.mode == "forward":
        return lambda value: send_context.current_group % groups

    def next_subtask(value: Any) -> int:
        # Senders start at different receivers, so that few records still spread.
        writer.round_robin_index += 1
        return (writer.round_robin_index + send_context.sender) % groups

    return next_subtask


def sink_step(writer: ExchangeWriter, sink: SinkProgram | None, unshared: bool = False) -> Step:
    """Return a step that encodes each record for a sink; ``unshared``: see ``_buffer_lines``."""
    if sink is None or sink.sink.record_encoder is None:
        return one_receiver_step(writer, unshared)
    step = one_receiver_step(writer)  # the encoder may keep what it gave
    lines = ("node = $node", "value = $encode(value)", *step.lines)
    names = {**step.names, "node": sink.node, "encode": sink.sink.record_encoder}
    return replace(step, lines=lines, names=names)


def one_receiver_step(writer: ExchangeWriter, unshared: bool = False) -> Step:
    """Return a step that puts records into the only buffer; ``unshared``: see ``_buffer_lines``."""
    lines = (
        "$buffer = $buffers[0]",
        "if $buffer is None: $buffer = $open_buffer(0)",
        *_buffer_lines(writer, unshared),
    )
    names = {
        "buffers": writer.buffers,
        "open_buffer": writer.buffer,
        "estimate_size": writer.send_context.estimate_size,
        **_BUFFER_NAMES,
    }
    return Step(lines, names, size_check=(_SIZE_CHECK,))


def exchange_node(program: ExchangeProgram) -> NodeProgram:
    """Return a node for an exchange, which errors of its selector or partitioner name."""
    return NodeProgram(
        program.id, f"{program.label} of {program.name}", None, program.site, None, ()
    )
