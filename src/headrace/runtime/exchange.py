"""The ends of a chain: buffers that gather what leaves a task, by group."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from headrace.common.types import Row
from headrace.errors import HeadraceError, PlanError, UnstableKeyError
from headrace.runtime.block import BlockBuffer, Envelope, Kind, Mark, take
from headrace.runtime.chain.loops import Step
from headrace.runtime.channel import Channel
from headrace.runtime.detached import Heading, copied, kept
from headrace.runtime.key_groups import KeyGroups
from headrace.runtime.operator import NodeProgram
from headrace.runtime.overflow import Overflow, bytes_of, unweighed_bytes
from headrace.runtime.plain import ATOMS, is_plain, only_atoms
from headrace.runtime.program import ExchangeProgram

SENDERS_PER_VERTEX = 1 << 20

BYTES_GATHERED = 16 << 20
"""So much may wait in the buffers of a chain. It leaves between two calls, and in the middle of
one it is put aside."""

_BYTES_UNWEIGHED = 64 << 10
_RECORDS_UNWEIGHED = 512
"""A buffer is weighed again once so many bytes may have come if records are as they were, or so
many records: of small ones with 1, 16, 256, 768 … records. Each time costs some microseconds."""


class Outbox:
    """What every endpoint of one task run shares: who sends, when, and in which order."""

    __slots__ = (
        "home",
        "home_groups",
        "keyed_watermark",
        "now_ms",
        "object_reuse",
        "overflow",
        "relieve",
        "sender",
        "seq",
        "weight_bytes",
    )

    def __init__(self, object_reuse: bool, overflow: Overflow) -> None:
        self.object_reuse = object_reuse
        self.overflow = overflow
        self.weight_bytes = 0
        """About how many bytes wait in the buffers."""
        self.relieve: Callable[[], None] = _nothing
        """Puts aside what waits in the buffers of the whole chain."""
        self.sender = 0
        self.seq = itertools.count()
        self.now_ms = 0
        self.home = 0
        self.home_groups = 1
        self.keyed_watermark: int | None = None

    def begin(
        self,
        sender: int,
        now_ms: int,
        home: int,
        home_groups: int,
        watermark: int | None,
        joins: bool,
    ) -> None:
        """Start a task run. ``watermark`` is None in a source, else that of the keyed task.

        ``joins``: what the run before it gathered still waits, and leaves with this run's.
        """
        self.sender = sender
        self.seq = itertools.count()
        self.now_ms = max(now_ms, self.now_ms) if joins else now_ms
        self.home = home
        self.home_groups = home_groups
        self.keyed_watermark = watermark
        if not joins:
            self.overflow.clear()
            self.weight_bytes = 0

    def weigh(self, buffer: BlockBuffer) -> None:
        """Look how much a buffer took that reached its limit; if it is too much, put it aside."""
        count, weight_bytes = len(buffer.values), unweighed_bytes(buffer)
        self.weight_bytes += weight_bytes
        more = _BYTES_UNWEIGHED * (count - buffer.weighed) // max(weight_bytes, 1)
        buffer.weighed = count
        buffer.limit = count + max(1, min(more, count * 15, _RECORDS_UNWEIGHED))
        if self.weight_bytes >= BYTES_GATHERED:
            self.relieve()


def _nothing() -> None:
    """Nothing to relieve yet: the chain is being built."""


class Endpoint:
    """Gathers records for ``groups`` receivers and gives them back as envelopes."""

    def __init__(
        self,
        outbox: Outbox,
        stage: int,
        target: str,
        groups: int,
        keyed: bool,
        exchange: str | None,
    ) -> None:
        self.outbox = outbox
        self.stage = stage
        self.target = target
        self.groups = groups
        self.keyed = keyed
        self.exchange = exchange
        self.buffers: list[BlockBuffer | None] = [None] * groups
        self.unchecked = False
        """Whether records may have come that nobody has looked at."""
        self.channel = Channel(exchange or "")
        self.merged = False
        self.watermark: int | None = None
        self.turn = -1

    def begin(self, channel: Channel | None, merged: bool, joins: bool = False) -> None:
        """Start a task run; ``channel``: whose watermark its marks carry (None: no marks).

        ``merged``: all senders of the exchange share one sequence of watermarks. ``joins``: the
        buffers stay as they are.
        """
        self.channel = channel or Channel("")
        self.merged = merged
        self.turn = -1
        if not joins:
            self.watermark = None
            self.buffers[:] = [None] * self.groups

    def open_channel(self, channel: Channel) -> None:
        """From now on records and marks belong to this channel."""
        self.channel = channel
        self.watermark = None
        for buffer in self.buffers:
            if buffer is not None:
                buffer.opens(channel)

    def buffer(self, group: int) -> BlockBuffer:
        """The open buffer of a group."""
        buffer = self.buffers[group]
        if buffer is None:
            buffer = self.buffers[group] = self._new_buffer(group)
        return buffer

    def _new_buffer(self, group: int) -> BlockBuffer:
        buffer = BlockBuffer(None)
        if self.exchange is not None and not self.merged:
            buffer.opens(self.channel)
        return buffer

    def mark(self, watermark: int, idle: bool) -> None:
        """Put a watermark behind what was gathered so far, for every receiver.

        A sink's end only notes it: how far a split has come is asked of all ends of its chain.
        """
        self.watermark = watermark
        if self.exchange is None:
            return
        channel = self.channel
        for group in range(self.groups):
            buffer = self.buffer(group)
            marks, position = buffer.marks, len(buffer.values)
            mark = Mark(position, channel, watermark, idle)
            if marks and marks[-1].position == position and marks[-1].channel == channel:
                marks[-1] = mark
            else:
                marks.append(mark)

    def records(self) -> int:
        """How many records wait in the buffers."""
        return waiting_in(self.buffers)

    def weight_bytes(self) -> int:
        """About how many bytes wait: a few of the records are looked at."""
        open_now = [buffer for buffer in self.buffers if buffer is not None and buffer.values]
        sample = [buffer.values[-1] for buffer in open_now[:: len(open_now) // 2 + 1]]
        return sum(map(bytes_of, sample)) * self.records() // len(sample) if sample else 0

    def drain(self) -> Iterator[Envelope]:
        """Everything gathered, as envelopes; the buffers are empty afterwards."""
        for group, buffer in enumerate(self.buffers):
            if buffer is not None:
                self.buffers[group] = None
                yield self._envelope(group, buffer)

    def _envelope(self, group: int, buffer: BlockBuffer) -> Envelope:
        outbox = self.outbox
        merged_channel = self.channel if self.merged and self.exchange else None
        block = take(buffer, self.keyed, outbox.now_ms, merged_channel, not self.unchecked)
        where = group if self.exchange is not None else outbox.home
        return Envelope(
            self.stage, where, self.target, Kind.DATA, outbox.sender, next(outbox.seq), block
        )


class KeyedEndpoint(Endpoint):
    """The way out of a keyed stage, whose groups all go through one sequence of watermarks.

    What several groups emit, one run after another, goes to the same blocks: with as many blocks
    as there are pairs of groups, each would be short. Records lie by the watermark under which
    they were emitted, and in a block in that order.
    """

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._under: dict[int, list[BlockBuffer | None]] = {}
        """The buffers under every other watermark than the present one."""
        self._records_under = 0
        self._headings: list[dict[Heading, int]] = [{} for _ in self.buffers]
        self._last: Mark | None = None
        self._told: dict[int, Mark | None] = {}
        """By group at work that came to a mark: the one which its number has been told."""

    def begin(self, channel: Channel | None, merged: bool, joins: bool = False) -> None:
        """Start a task run, under the watermark of the keyed task."""
        super().begin(channel, merged, joins)
        if not joins:
            self._last = None
            self._told.clear()
            self._empty()
        assert self.outbox.keyed_watermark is not None
        self._turn_to(self.outbox.keyed_watermark)

    def _empty(self) -> None:
        self._under.clear()
        self._records_under = 0
        for headings in self._headings:
            headings.clear()

    def _turn_to(self, watermark: int) -> None:
        if watermark == self.watermark:
            return
        if self.watermark is not None and any(self.buffers):
            self._under[self.watermark] = [*self.buffers]
            self._records_under += waiting_in(self.buffers)
        found = self._under.pop(watermark, None)
        if found is None:
            self.buffers[:] = [None] * self.groups
        else:
            self.buffers[:] = found
            self._records_under -= waiting_in(found)
        self.watermark = watermark

    def _new_buffer(self, group: int) -> BlockBuffer:
        return BlockBuffer(self.watermark, self._headings[group])

    def mark(self, watermark: int, idle: bool) -> None:
        """What comes from now on is emitted under this watermark."""
        self._turn_to(watermark)
        if self._last is None or watermark >= self._last.watermark:
            self._last = Mark(0, self.channel, watermark, idle)
        self._told.setdefault(self.outbox.home, None)

    def records(self) -> int:
        """How many records wait in the buffers."""
        return waiting_in(self.buffers) + self._records_under

    def drain(self) -> Iterator[Envelope]:
        """One block for each receiver of a record, and for those that hear of the time from here.

        Of those without a record a group tells the receivers of its own number.
        """
        last, home_groups = self._last, self.outbox.home_groups
        news = {home for home, mark in self._told.items() if mark != last}
        assert self.watermark is not None
        under = {**self._under, self.watermark: self.buffers}
        by_time = [under[since] for since in sorted(under)]
        for group in range(self.groups):
            found = [buffer for each in by_time if (buffer := each[group]) is not None]
            for buffers in by_time:
                buffers[group] = None
            if not found and last is not None and group % home_groups in news:
                found = [BlockBuffer(last.watermark)]
            if found:
                yield self._envelope(group, self._joined(found))
        self._told.update(dict.fromkeys(news, last))
        self._empty()

    def _joined(self, buffers: list[BlockBuffer]) -> BlockBuffer:
        whole, *others = buffers
        for buffer in others:
            assert buffer.since is not None
            whole.marks.append(Mark(len(whole.values), self.channel, buffer.since))
            whole.append(buffer)
        if self._last is not None:
            whole.marks.append(self._last._replace(position=len(whole.values)))
        return whole


def waiting_in(buffers: Iterable[BlockBuffer | None]) -> int:
    """How many records wait in buffers."""
    return sum(len(buffer.values) for buffer in buffers if buffer is not None)


def exchange_step(endpoint: Endpoint, program: ExchangeProgram, fresh: bool = False) -> Step:
    """A step that sends each record to its receiver; ``fresh`` as in ``_gather``."""
    make = key_step if program.mode == "key" else subtask_step
    return make(endpoint, program, fresh)


def key_step(endpoint: Endpoint, program: ExchangeProgram, fresh: bool = False) -> Step:
    """A step that sends each record to the key group of its key; ``fresh`` as in ``_gather``."""
    assert program.selector is not None
    select = program.selector.bound()

    def own(key: Any) -> Any:
        # A Row, by itself or within a tuple, may still be changed by its owner.
        if type(key) is Row:
            return copied(key)
        # Pickle would refuse an enum declared within a function.
        return key if is_plain(key) else copy.deepcopy(key)

    def unstable(key: Any, error: TypeError) -> HeadraceError:
        return _unstable(key, program, error)

    lines = (
        "node = $node",
        "$key = $key_of(value)",
        "try:",
        "    if type($key) not in $atoms: $key = $own($key)",
        "    $group = $groups[$key]",
        "except TypeError as $error:",
        "    raise $unstable($key, $error) from None",
        "$buffer = $buffers[$group]",
        "if $buffer is None: $buffer = $open_buffer($group)",
        *_gather(endpoint, fresh),
        "$buffer.keys.append($key)",
    )
    names = {
        "node": exchange_node(program),
        "key_of": _typed(select, program.key_type),
        "own": own,
        "unstable": unstable,
        "groups": KeyGroups(program.groups),
        "buffers": endpoint.buffers,
        "open_buffer": endpoint.buffer,
        "weigh": endpoint.outbox.weigh,
        **_GATHERING,
    }
    return Step(lines, names, weighing=(_WEIGH,))


_WEIGH = "if len($values) >= $buffer.limit: $weigh($buffer)"
_GATHERING = {
    "atoms": ATOMS,
    "only_atoms": only_atoms,
    "is_plain": is_plain,
    "kept": kept,
}


def _gather(endpoint: Endpoint, fresh: bool) -> tuple[str, ...]:
    """Lines that put a record into ``$buffer``.

    ``fresh``: nobody else holds the record, so it is early enough when the block is encoded.
    """
    put = (
        "$values = $buffer.values",
        "$values.append(value)",
        "$buffer.timestamps.append(timestamp)",
    )
    if endpoint.outbox.object_reuse:
        return put
    if fresh:
        endpoint.unchecked = True
        return ("if $buffer.isolated: value = $kept(value, $buffer.headings)", *put)
    return (
        "if $buffer.isolated: value = $kept(value, $buffer.headings)",
        "elif type(value) not in $atoms and not ("
        "type(value) is tuple and $only_atoms(map(type, value)) or $is_plain(value)):",
        "    $buffer.isolate()",
        "    value = $kept(value, $buffer.headings)",
        *put,
    )


def _typed(select: Callable[[Any], Any], key_type: Any) -> Callable[[Any], Any]:
    coerce = key_type.coercer() if key_type is not None else None
    if coerce is None:
        return select
    return lambda value: coerce(select(value))


def _unstable(key: Any, program: ExchangeProgram, error: TypeError) -> HeadraceError:
    where = {"stream": f"{program.name}, built at {program.site}", "key": repr(key)[:200]}
    if isinstance(error, UnstableKeyError):
        return UnstableKeyError(error.message, where=where, hint=error.hint)
    return UnstableKeyError(
        f"a {type(key).__name__} cannot be a key: {error}",
        where=where,
        hint="use str, numbers, bytes, dates, enums, a tuple or Row of these,"
        " or a dataclass declared with frozen=True",
    )


def subtask_step(endpoint: Endpoint, program: ExchangeProgram, fresh: bool = False) -> Step:
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


def _picker(endpoint: Endpoint, program: ExchangeProgram) -> Callable[[Any], int]:
    outbox, groups = endpoint.outbox, program.groups
    if program.mode == "custom":
        assert program.partitioner is not None and program.selector is not None
        partition, select = program.partitioner.bound(), program.selector.bound()
        return lambda value: int(partition(select(value), groups))
    if program.mode == "forward":
        return lambda value: outbox.home % groups

    def next_subtask(value: Any) -> int:
        # Senders start at different receivers, so that few records still spread.
        endpoint.turn += 1
        return (endpoint.turn + outbox.sender) % groups

    return next_subtask


def sink_step(endpoint: Endpoint, fresh: bool = False) -> Step:
    """A step that hands each record to a sink; ``fresh`` as in ``_gather``."""
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
    """A stand-in node, so that a failing key selector or partitioner is told by its stream."""
    return NodeProgram(
        program.id, f"{program.label} of {program.name}", None, program.site, None, ()
    )
