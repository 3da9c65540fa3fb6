"""A record that is kept comes back as pickle would bring it back, and as it was."""

from __future__ import annotations

import copyreg
import enum
import pickle
import threading
from collections import OrderedDict, defaultdict
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common import Row, RowKind
from headrace.common.types import row_of
from headrace.runtime.record_copies import (
    RecordLayout,
    SerializedRecord,
    copy_record,
    deserialize_records,
    serialize_record,
)

T = TypeVar("T")


@dataclass
class Order:
    name: str
    size: Any
    venue: str = "X"


@dataclass
class Parent(Order):
    children: int = 0


@dataclass(frozen=True)
class Fixed:
    name: str
    tags: Any


class Bare:
    """No dataclass: attributes as they were set."""

    def __init__(self, **attributes: Any) -> None:
        vars(self).update(attributes)

    def __eq__(self, other: object) -> bool:
        return type(other) is Bare and vars(self) == vars(other)

    def __repr__(self) -> str:
        return f"Bare({vars(self)})"  # an address in a test's name differs in each process

    __hash__ = None  # type: ignore[assignment]


@dataclass
class Box(Generic[T]):
    inside: T


class Side(enum.Enum):
    BUY = 1


class Pair(NamedTuple):
    left: Any
    right: Any


@dataclass(slots=True)
class Slotted:
    name: str


@dataclass
class WithState:
    """Says itself what is pickled."""

    name: str
    cache: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {"name": self.name, "cache": None}


@dataclass
class Waking:
    """Notices that it was unpickled: ``woken``."""

    name: str
    woken: bool = field(default=False, compare=False)

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, woken=True)


@dataclass
class Counted:
    """Has a part in how its objects are made."""

    name: str

    def __new__(cls, *args: Any) -> Counted:
        made = object.__new__(cls)
        vars(made)["made"] = True
        return made


@dataclass
class Registered:
    name: str


@dataclass
class Many(list):  # type: ignore[type-arg]
    name: str


copyreg.pickle(Registered, lambda value: (Registered, (value.name.upper(),)))

TAKEN_APART = [
    Order("a", 1),
    Parent("a", None, "Y", 3),
    Fixed("a", ("x", "y")),
    Bare(),
    Bare(z=1, a=2),
    Box(5),
    Row(),
    Row(1, "a"),
    Row(name="a", size=1),
    Row("name", "size")("a", 1),
    Row.of_kind(RowKind.DELETE, 1),
    Row.of_kind(RowKind.UPDATE_AFTER, name="a"),
]
of_no_kind = Row(1)
of_no_kind.set_row_kind(None)  # type: ignore[arg-type]  # it is not looked at there

IN_ONE_PIECE = [
    [],
    [1, 2],
    {1, 2},
    bytearray(b"a"),
    b"bytes",
    "text",
    7,
    None,
    (1, [2]),
    Pair(1, [2]),
    Side.BUY,
    Order,
    {},
    {"a": 1},
    OrderedDict(a=1),
    defaultdict(int, a=1),
    Order("a", [1]),
    Order("a", Order("b", 1)),
    Fixed("a", ["x"]),
    Bare(a={}),
    Slotted("a"),
    WithState("a", "b"),
    Waking("a"),
    Counted("a"),
    Registered("a"),
    Many("a"),
    Row(1, [2]),
    Row(Row(1)),
    Row(1, "name")(2, 3),
    of_no_kind,
]


def through(values: list[Any]) -> tuple[list[SerializedRecord], list[Any]]:
    """What is kept of values, and what comes of it in another process."""
    layouts: dict[RecordLayout, int] = {}
    held = [serialize_record(value, layouts) for value in values]
    arrived, names = pickle.loads(pickle.dumps((held, tuple(layouts)), 5))
    return held, deserialize_records(arrived, names)


def inside(value: Any) -> Any:
    """A description of a value: its type and its content, in order."""
    if type(value) is Row:
        names = value._names()
        return Row, names, type(names), value._values, value.get_row_kind()
    if hasattr(value, "__dict__") and not isinstance(value, type | enum.Enum):
        return type(value), list(vars(value).items())
    return type(value), value


@pytest.mark.parametrize("value", TAKEN_APART, ids=repr)
def test_values_that_nobody_can_change_are_taken_out(value: Any) -> None:
    (held,), (back,) = through([value])
    assert isinstance(held, tuple)
    assert inside(back) == inside(pickle.loads(pickle.dumps(value, 5)))


@pytest.mark.parametrize("value", IN_ONE_PIECE, ids=repr)
def test_what_else_there_is_is_pickled(value: Any) -> None:
    (held,), (back,) = through([value])
    assert isinstance(held, bytes)
    assert inside(back) == inside(pickle.loads(pickle.dumps(value, 5)))


def test_records_of_several_kinds_keep_apart() -> None:
    values = [*TAKEN_APART, *IN_ONE_PIECE, *TAKEN_APART]
    _, back = through(values)
    expected = [pickle.loads(pickle.dumps(value, 5)) for value in values]
    assert [*map(inside, back)] == [*map(inside, expected)]


def test_a_heading_is_held_once() -> None:
    layouts: dict[RecordLayout, int] = {}
    for number in range(5):
        serialize_record(Order("a", number), layouts)
        serialize_record(Row(a=number), layouts)
        serialize_record(Row(b=number), layouts)
    assert layouts == {
        (Order, ("name", "size", "venue"), tuple, 0): 0,
        (Row, ("a",), list, 0): 1,
        (Row, ("b",), list, 0): 2,
    }


def test_objects_with_ever_new_attributes_need_no_more_headings() -> None:
    layouts: dict[RecordLayout, int] = {}
    values = [Bare(**{f"name{number}": number}) for number in range(50)]
    held = [serialize_record(value, layouts) for value in values]
    assert len(layouts) == 16
    assert deserialize_records(held, [*layouts]) == values


@pytest.mark.parametrize("change", ["attribute", "more", "less"])
def test_what_is_kept_is_what_it_was(change: str) -> None:
    value = Order("a", 1)
    layouts: dict[RecordLayout, int] = {}
    held = serialize_record(value, layouts)
    if change == "attribute":
        value.size = 2
    elif change == "more":
        value.more = 2  # type: ignore[attr-defined]
    else:
        del value.venue
    assert deserialize_records([held], [*layouts]) == [Order("a", 1)]


@pytest.mark.parametrize("value", [Order("a", 1), Bare(a=1), Row(a=1), [1]], ids=repr)
def test_each_time_it_is_given_back_it_is_another(value: Any) -> None:
    layouts: dict[RecordLayout, int] = {}
    held = serialize_record(value, layouts)
    (first,), (second,) = (
        deserialize_records([held], [*layouts]),
        deserialize_records([held], [*layouts]),
    )
    assert first == second == value
    assert len({id(first), id(second), id(value)}) == 3
    if isinstance(value, Row):
        first["a"] = 2
        first._fields.append("b")  # type: ignore[attr-defined]
        assert second == Row(a=1)


@pytest.mark.parametrize("names", [["a", "b"], ("a", "b")])
def test_a_row_has_its_names_as_they_were(names: Any) -> None:
    row = row_of(names, [1, 2])
    (held,), (back,) = through([row])
    assert isinstance(held, tuple)
    assert back == row
    assert (back._fields, type(back._fields)) == (names, type(names))


def test_attributes_are_those_that_were_there() -> None:
    value = Order("a", 1)
    del value.venue
    value.note = "late"  # type: ignore[attr-defined]
    _, (back,) = through([value])
    assert vars(back) == {"name": "a", "size": 1, "note": "late"}


class Guarded:
    """Attributes that are not set by their names alone."""

    def __init__(self) -> None:
        vars(self).update(limit=1, other=2)

    @property
    def limit(self) -> Any:
        return vars(self)["limit"]

    @limit.setter
    def limit(self, value: Any) -> None:
        raise AssertionError("unpickling does not set it so")


class Watching:
    def __init__(self) -> None:
        vars(self).update(limit=1)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AssertionError("unpickling does not call it")


class Tenths:
    """Holds tenths under its own name, and answers for the class as well."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return 0 if instance is None else vars(instance)[self.name]

    def __set__(self, instance: Any, value: float) -> None:
        vars(instance)[self.name] = round(value * 10)


class Weighed:
    weight = Tenths()

    def __init__(self) -> None:
        self.weight = 1.5


@pytest.mark.parametrize("kind", [Guarded, Watching, Weighed])
def test_attributes_come_back_without_calls(kind: type) -> None:
    (held,), (back,) = through([kind()])
    assert isinstance(held, tuple)
    assert vars(back) == vars(kind())


def test_a_class_within_a_function_is_refused_with_its_name() -> None:
    @dataclass
    class Here:
        n: int

    with pytest.raises((AttributeError, pickle.PicklingError), match="Here"):
        serialize_record(Here(1), {})


def test_what_cannot_be_pickled_is_refused() -> None:
    with pytest.raises(TypeError, match="lock"):
        serialize_record({"lock": threading.Lock()}, {})


def test_a_copy_shares_nothing() -> None:
    value = Order("a", 1)
    other = copy_record(value)
    value.size = 2
    assert other == Order("a", 1)
    plain = ("a", 1)
    assert copy_record(plain) is plain


def test_a_name_comes_back_as_it_was_written() -> None:
    given = Bare(**{"latency_\u00b5s": 5, "latency_\u03bcs": 6})
    assert vars(copy_record(given)) == {"latency_\u00b5s": 5, "latency_\u03bcs": 6}


ATOMIC_TYPES = (
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.binary(max_size=3)
)
VALUES = st.recursive(
    ATOMIC_TYPES, lambda inner: st.lists(inner, max_size=2).map(tuple), max_leaves=4
)
FIELDS = st.lists(VALUES | st.lists(ATOMIC_TYPES, max_size=1), max_size=4)
NAMES = st.sampled_from(
    [
        ("a", "b", "c", "d"),
        ("d", "a", "not a name", "class"),
        # Python would read these in another form: the micro sign, a ligature, an Angstrom, a digit
        ("latency_\u00b5s", "\ufb01t", "\u212b", "x\u2460"),
    ]
)
RECORDS = st.one_of(
    st.builds(lambda names, values: Bare(**dict(zip(names, values, strict=False))), NAMES, FIELDS),
    st.builds(lambda values: Row(*values), FIELDS),
    st.builds(lambda names, values: Row(**dict(zip(names, values, strict=False))), NAMES, FIELDS),
    st.builds(Order, st.text(max_size=2), VALUES),
    VALUES,
)


@given(st.lists(RECORDS, max_size=12))
def test_any_records_come_back_as_from_pickle(values: list[Any]) -> None:
    _, back = through(values)
    expected = [pickle.loads(pickle.dumps(value, 5)) for value in values]
    assert [*map(inside, back)] == [*map(inside, expected)]
