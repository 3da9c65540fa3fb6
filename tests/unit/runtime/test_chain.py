"""Operators in one task: what each gets, and their life cycle."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common._output_tag import OutputTag
from headrace.operators.map import MapSpec
from headrace.operators.process import ProcessSpec
from headrace.runtime.program import ChainProgram
from headrace.runtime.user_function import UserFunction
from tests.unit.runtime.programs import (
    Spy,
    chain_of,
    data,
    exchange,
    mapping,
    node,
    running,
    sent,
    to_exchange,
    to_node,
    to_sink,
)

SINKS = 2
ASIDE = OutputTag("aside")


def appending(what: Any) -> Any:
    """Changes a list in place."""

    def change(value: list[Any]) -> list[Any]:
        value.append(what)
        return value

    return change


def test_records_pass_one_by_one_through_the_whole_chain() -> None:
    log: list[Any] = []
    chain = running(
        chain_of(
            node(1, None, to_node(2)),
            node(2, Spy("first", log), to_node(3)),
            node(3, Spy("second", log), to_sink(0)),
        )
    )
    log.clear()
    chain.push("a", 5)
    chain.push("b", None)
    assert log == [
        ("first", "record", "a", 5),
        ("second", "record", "a", 5),
        ("first", "record", "b", None),
        ("second", "record", "b", None),
    ]
    (envelope,) = chain.drain()
    assert (envelope.stage, envelope.target, envelope.sender, envelope.group) == (SINKS, 0, 3, 0)
    assert envelope.payload.values == ["a", "b"]
    assert envelope.payload.timestamps == [5, None]
    assert envelope.payload.now_ms == 1000
    assert list(chain.drain()) == []


def forked(object_reuse: bool) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    """What a sink, two operators that change their record, and a third get of one record."""
    left, right, last = Spy("left", change=appending("l")), Spy("right"), Spy("last")
    chain = running(
        chain_of(
            node(1, None, to_node(2), to_node(3), to_sink(0), to_node(4)),
            node(2, left, to_sink(1)),
            node(3, mapping(appending("r")), to_node(5)),
            node(4, last),
            node(5, right),
        ),
        object_reuse=object_reuse,
    )
    record = ["new"]
    chain.push(record, None)
    envelopes = list(chain.drain())
    return sent(envelopes, SINKS, 0), sent(envelopes, SINKS, 1), right.records(), last.records()


def test_each_reader_of_a_stream_gets_the_record_as_it_was_emitted() -> None:
    sink, left, right, last = forked(object_reuse=False)
    assert sink == [["new"]]
    assert left == [["new", "l"]]
    assert right == [["new", "r"]]
    assert last == [["new"]]


def test_with_object_reuse_readers_share_the_record() -> None:
    sink, _, right, last = forked(object_reuse=True)
    assert right == [["new", "l", "r"]]
    assert last == [["new", "l", "r"]]
    assert sink == [["new", "l", "r"]]


def test_a_record_that_nobody_can_change_is_not_copied() -> None:
    record = ("a", 1.5)
    one: list[Any] = []
    other: list[Any] = []
    chain = running(
        chain_of(
            node(1, None, to_node(2), to_node(3)),
            node(2, mapping(one.append)),
            node(3, mapping(other.append)),
        )
    )
    chain.push(record, None)
    assert one[0] is record
    assert other[0] is record


def test_what_left_for_a_sink_or_an_exchange_is_final() -> None:
    keyed = exchange(0, selector=UserFunction(lambda value: "key"))
    chain = running(chain_of(node(1, None, to_sink(0), to_exchange(0)), exchanges=[keyed]))
    chain.push(1, None)
    record = {"n": 1}
    for number in range(3):
        record["n"] = number
        chain.push(record, None)
    envelopes = list(chain.drain())
    expected = [1, {"n": 0}, {"n": 1}, {"n": 2}]
    assert sent(envelopes, SINKS) == expected
    assert sent(envelopes, 1) == expected


def halves(value: int, ctx: Any) -> Any:
    yield value
    if value % 2:
        yield ASIDE, -value
    yield OutputTag("unread"), value


def test_side_outputs_go_to_who_reads_them() -> None:
    aside, main = Spy("aside"), Spy("main")
    chain = running(
        chain_of(
            node(1, None, to_node(2)),
            node(
                2,
                ProcessSpec(UserFunction(halves)),
                to_node(3, "aside"),
                to_sink(1, "aside"),
                to_node(4),
            ),
            node(3, aside),
            node(4, main, to_sink(0)),
        )
    )
    for value in range(4):
        chain.push(value, 10 * value)
    assert aside.records() == [-1, -3]
    assert main.records() == [0, 1, 2, 3]
    envelopes = list(chain.drain())
    assert sent(envelopes, SINKS, 0) == [0, 1, 2, 3]
    assert sent(envelopes, SINKS, 1) == [-1, -3]
    (side,) = [e.payload for e in data(envelopes) if e.target == 1]
    assert side.timestamps == [10, 30]


def test_readers_of_one_side_output_do_not_share_a_record() -> None:
    first, second = Spy("first", change=appending("changed")), Spy("second")
    chain = running(
        chain_of(
            node(
                1,
                ProcessSpec(UserFunction(lambda value, ctx: [(ASIDE, value)])),
                *(to_node(2, "aside"), to_node(3, "aside")),
            ),
            node(2, first),
            node(3, second),
        )
    )
    chain.push(["new"], None)
    assert second.records() == [["new"]]


# Opening and closing


def a_line(log: list[Any], **more: Any) -> ChainProgram:
    return chain_of(
        node(1, Spy("head", log), to_node(2)),
        node(2, Spy("middle", log), to_node(3)),
        node(3, Spy("tail", log), **more),
    )


def test_functions_are_opened_from_the_end_and_closed_from_the_head() -> None:
    log: list[Any] = []
    chain = running(a_line(log))
    assert [entry[0] for entry in log] == ["tail", "middle", "head"]
    assert log[0] == ("tail", "open", "node 3")
    log.clear()
    chain.close()
    assert log == [("head", "close"), ("middle", "close"), ("tail", "close")]


def test_one_that_fails_to_close_does_not_keep_the_others_open() -> None:
    log: list[Any] = []
    chain = running(a_line(log))

    def fail() -> None:
        raise OSError("closing failed")

    chain.operators[2].close = fail  # type: ignore[method-assign]
    log.clear()
    with pytest.raises(OSError, match="closing failed"):
        chain.close()
    assert log == [("head", "close"), ("tail", "close")]


def test_a_selector_and_a_partitioner_are_opened_and_closed() -> None:
    log: list[Any] = []

    class Selecting:
        def open(self, context: Any) -> None:
            log.append("open")

        def get_key(self, value: Any) -> Any:
            return value

        def close(self) -> None:
            log.append("close")

    selector = UserFunction(Selecting(), "get_key")
    chain = running(
        chain_of(node(1, None, to_exchange(0)), exchanges=[exchange(0, selector=selector)])
    )
    assert log == ["open"]
    chain.close()
    assert log == ["open", "close"]


def test_a_failing_open_names_its_operator() -> None:
    class Failing(Spy):
        @property
        def functions(self) -> tuple[UserFunction, ...]:
            return (UserFunction(self, "opened"),)

        def open(self, context: Any) -> None:
            raise ConnectionError("no server")

        def opened(self) -> None: ...

    with pytest.raises(ConnectionError, match="no server") as caught:
        running(chain_of(node(1, Failing("broken"), name="look up", uid="lookup")))
    assert caught.value.__notes__ == ["operator: look up (uid=lookup), built at job.py:1"]


def test_two_chains_of_one_program_have_functions_of_their_own() -> None:
    class Counting:
        count = 0

        def map(self, value: Any) -> Any:
            self.count += 1
            return self.count

    spec = MapSpec(UserFunction(Counting(), "map"))
    program = chain_of(node(1, spec, to_node(2)), node(2, spec, to_sink(0)))
    for _ in range(2):
        chain = running(program)
        chain.push("a", None)
        chain.push("b", None)
        assert sent(chain.drain(), SINKS) == [1, 2]


def emitting_twice(*, object_reuse: bool, first: str | None, second: str | None) -> list[Any]:
    """What the second receiver gets of a record that the first has changed."""

    def twice(value: Any, ctx: Any) -> Any:
        for tag in (first, second):
            yield value if tag is None else (OutputTag(tag), value)

    chain = running(
        chain_of(
            node(1, None, to_node(2)),
            node(2, ProcessSpec(UserFunction(twice)), to_node(3, first), to_sink(0, second)),
            node(3, mapping(appending("changed"))),
        ),
        object_reuse=object_reuse,
    )
    chain.push(["new"], None)
    return sent(chain.drain(), SINKS)


@pytest.mark.parametrize(("first", "second"), [(None, "aside"), ("aside", None), ("a", "b")])
def test_readers_of_two_outputs_do_not_share_a_record(
    first: str | None, second: str | None
) -> None:
    assert emitting_twice(object_reuse=False, first=first, second=second) == [["new"]]
    shared = emitting_twice(object_reuse=True, first=first, second=second)
    assert shared == [["new", "changed"]]
