"""Steps that put a record into the buffer of its receiver."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from headrace.common.types import Row
from headrace.errors import HeadraceError, PlanError, UnstableKeyError
from headrace.runtime.exchange.endpoint import ExchangeWriter
from headrace.runtime.immutability import ATOMIC_TYPES, all_atomic, is_immutable
from headrace.runtime.keys.key_groups import KeyGroups, always_refused, key_group_of
from headrace.runtime.keys.serialized_key import SerializedKey, has_maps, with_ordered_maps
from headrace.runtime.loops import Step
from headrace.runtime.operator import NodeProgram
from headrace.runtime.program import ExchangeProgram, SinkProgram
from headrace.runtime.record_copies import copy_record, serialize_record


class WithKey:
    """What a combiner sends: a value that stands for records of a key, and their key.

    The key is fitted to its declared type; the receiver gets the value alone.
    """

    __slots__ = ("key", "value")

    def __init__(self, key: Any, value: Any) -> None:
        self.key, self.value = key, value


def exchange_step(endpoint: ExchangeWriter, program: ExchangeProgram, fresh: bool = False) -> Step:
    """A step that sends each record to its receiver; ``fresh`` as in ``_gather``."""
    if program.mode == "broadcast":
        return one_receiver_step(endpoint, fresh)  # one buffer, whose block goes to all
    make = key_step if program.mode == "key" else subtask_step
    return make(endpoint, program, fresh)


def key_step(endpoint: ExchangeWriter, program: ExchangeProgram, fresh: bool = False) -> Step:
    """A step that sends each record to the key group of its key; ``fresh`` as in ``_gather``."""
    assert program.selector is not None
    select = program.selector.bound()

    groups, by_form = KeyGroups(program.groups), set[type]()

    def placed(key: Any) -> tuple[Any, int]:
        """A key that nobody else can change, and its key group, from its hash alone.

        Only keys of types that cannot go by their form are looked up among known ones: others may
        be equal to one of these.
        """
        if type(key) in by_form:
            key = SerializedKey.of(key)
            return key, groups[key]
        group = key_group_of(key, groups.count)
        # A Row, by itself or within a tuple, may still be changed by its owner.
        if type(key) is Row:
            return copy_record(key), group
        # Pickle would refuse an enum declared within a function.
        return key if is_immutable(key) else copy.deepcopy(key), group

    def formed(key: Any) -> SerializedKey:
        """The serialized form of a key without a stable hash."""
        if always_refused(key):
            by_form.add(type(key))
        return SerializedKey.of(key)

    def unstable(key: Any, error: UnstableKeyError) -> HeadraceError:
        where = {"stream": f"{program.name}, built at {program.site}", **error.where}
        return UnstableKeyError(error.message, where=where, hint=error.hint)

    lines = (
        "node = $node",
        *(_KEY_OF_COMBINED if program.combined else ("$key = $key_of(value)",)),
        "try:",
        "    if type($key) in $atoms or type($key) is tuple and $all_atomic(map(type, $key)):",
        "        $group = $groups[$key]",
        "    else: $key, $group = $placed($key)",
        "except TypeError:",
        "    try:",
        "        $key = $formed($key)",
        "    except $refused as $error:",
        "        raise $unstable($key, $error) from None",
        "    $group = $groups[$key]",
        "$buffer = $buffers[$group]",
        "if $buffer is None: $buffer = $open_buffer($group)",
        *_gather(endpoint, fresh),
        "$buffer.keys.append($key)",
    )
    names = {
        "node": exchange_node(program),
        "key_of": typed(select, program.key_type),
        "with_key": WithKey,
        "placed": placed,
        "formed": formed,
        "refused": UnstableKeyError,
        "unstable": unstable,
        "groups": groups,
        "buffers": endpoint.buffers,
        "open_buffer": endpoint.buffer,
        "weigh": endpoint.outbox.weigh,
        **_GATHERING,
    }
    return Step(lines, names, weighing=(_WEIGH,))


_KEY_OF_COMBINED = (
    "if type(value) is $with_key: $key, value = value.key, value.value",
    "else: $key = $key_of(value)",
)
_WEIGH = "if len($values) >= $buffer.estimate_at: $weigh($buffer)"
_GATHERING = {
    "atoms": ATOMIC_TYPES,
    "all_atomic": all_atomic,
    "is_immutable": is_immutable,
    "serialize_record": serialize_record,
}


def _gather(endpoint: ExchangeWriter, fresh: bool) -> tuple[str, ...]:
    """Lines that put a record into ``$buffer``.

    ``fresh``: nobody else holds the record, so it need not be isolated before the block is encoded.
    """
    put = (
        "$values = $buffer.values",
        "$values.append(value)",
        "$buffer.timestamps.append(timestamp)",
    )
    if endpoint.outbox.object_reuse:
        return put
    if fresh:
        endpoint.may_be_mutable = True
        return ("if $buffer.copied: value = $serialize_record(value, $buffer.layouts)", *put)
    return (
        "if $buffer.copied: value = $serialize_record(value, $buffer.layouts)",
        "elif type(value) not in $atoms and not ("
        "type(value) is tuple and $all_atomic(map(type, value)) or $is_immutable(value)):",
        "    $buffer.copy_values()",
        "    value = $serialize_record(value, $buffer.layouts)",
        *put,
    )


def typed(select: Callable[[Any], Any], key_type: Any) -> Callable[[Any], Any]:
    """A selector whose keys fit their declared type; None: no type is declared."""
    if key_type is None:
        return select
    coerce = key_type.coercer()
    if coerce is None:
        return select
    if has_maps(key_type):
        return lambda value: with_ordered_maps(coerce(select(value)))
    return lambda value: coerce(select(value))


def subtask_step(endpoint: ExchangeWriter, program: ExchangeProgram, fresh: bool = False) -> Step:
    """A step that sends each record to a subtask: round robin, by partitioner, or its own."""
    groups = program.groups

    def outside(group: Any) -> PlanError:
        return PlanError(
            f"the partitioner returned {group!r}; there are partitions 0 to {groups - 1}",
            where={"stream": f"{program.name}, built at {program.site}"},
        )

    lines = (
        "node = $node",
        "$group = $pick(value)",
        "if not 0 <= $group < $groups: raise $outside($group)",
        "$buffer = $buffers[$group]",
        "if $buffer is None: $buffer = $open_buffer($group)",
        *_gather(endpoint, fresh and program.partitioner is None),
    )
    names = {
        "node": exchange_node(program),
        "pick": _picker(endpoint, program),
        "groups": groups,
        "outside": outside,
        "buffers": endpoint.buffers,
        "open_buffer": endpoint.buffer,
        "weigh": endpoint.outbox.weigh,
        **_GATHERING,
    }
    return Step(lines, names, weighing=(_WEIGH,))


def _picker(endpoint: ExchangeWriter, program: ExchangeProgram) -> Callable[[Any], int]:
    outbox, groups = endpoint.outbox, program.groups
    if program.mode == "custom":
        assert program.partitioner is not None and program.selector is not None
        partition, select = program.partitioner.bound(), program.selector.bound()
        return lambda value: int(partition(select(value), groups))
    if program.mode == "forward":
        return lambda value: outbox.current_group % groups

    def next_subtask(value: Any) -> int:
        # Senders start at different receivers, so that few records still spread.
        endpoint.turn += 1
        return (endpoint.turn + outbox.sender) % groups

    return next_subtask


def sink_step(endpoint: ExchangeWriter, sink: SinkProgram | None, fresh: bool = False) -> Step:
    """A step that encodes each record for a sink and hands it on; ``fresh`` as in ``_gather``."""
    if sink is None or sink.sink.record_encoder is None:
        return one_receiver_step(endpoint, fresh)
    step = one_receiver_step(endpoint)  # the encoder may keep what it gave
    lines = ("node = $node", "value = $encode(value)", *step.lines)
    names = {**step.names, "node": sink.node, "encode": sink.sink.record_encoder}
    return replace(step, lines=lines, names=names)


def one_receiver_step(endpoint: ExchangeWriter, fresh: bool = False) -> Step:
    """A step that puts each record into the only buffer; ``fresh`` as in ``_gather``."""
    lines = (
        "$buffer = $buffers[0]",
        "if $buffer is None: $buffer = $open_buffer(0)",
        *_gather(endpoint, fresh),
    )
    names = {
        "buffers": endpoint.buffers,
        "open_buffer": endpoint.buffer,
        "weigh": endpoint.outbox.weigh,
        **_GATHERING,
    }
    return Step(lines, names, weighing=(_WEIGH,))


def exchange_node(program: ExchangeProgram) -> NodeProgram:
    """A node for an exchange, so that an error of a selector or partitioner names its stream."""
    return NodeProgram(
        program.id, f"{program.label} of {program.name}", None, program.site, None, ()
    )
