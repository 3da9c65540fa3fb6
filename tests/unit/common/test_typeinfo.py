import datetime as dt
import inspect
import json
import math
import pickle
import struct
from array import array
from collections import OrderedDict, deque, namedtuple
from dataclasses import dataclass
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common import Instant, Row, RowKind, Types
from headrace.common._types.data import type_text
from headrace.common._types.from_data import type_from_data
from headrace.common.typeinfo import (
    ExternalTypeInfo,
    LocalTimeTypeInfo,
    RowTypeInfo,
    TypeInformation,
)
from headrace.errors import PlanError, TypeMismatchError, UnsupportedError

LocalTime = LocalTimeTypeInfo.TimeType
NAMED = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])

BASIC = {
    Types.STRING(): st.text(max_size=8),
    Types.BYTE(): st.integers(-(2**7), 2**7 - 1),
    Types.BOOLEAN(): st.booleans(),
    Types.SHORT(): st.integers(-(2**15), 2**15 - 1),
    Types.INT(): st.integers(-(2**31), 2**31 - 1),
    Types.LONG(): st.integers(-(2**63), 2**63 - 1),
    Types.FLOAT(): st.floats(width=32, allow_nan=False),
    Types.DOUBLE(): st.floats(allow_nan=False),
    Types.CHAR(): st.characters(codec="utf-8"),
    Types.BIG_INT(): st.integers(),
    Types.BIG_DEC(): st.decimals(allow_nan=False),
    Types.INSTANT(): st.builds(Instant.of_epoch_milli, st.integers(-(10**12), 10**12)),
    Types.SQL_DATE(): st.dates(),
    Types.SQL_TIME(): st.times(),
    Types.SQL_TIMESTAMP(): st.datetimes(),
    Types.PICKLED_BYTE_ARRAY(): st.integers() | st.lists(st.text(max_size=3), max_size=3),
    LocalTimeTypeInfo(LocalTime.LOCAL_DATE): st.dates(),
    LocalTimeTypeInfo(LocalTime.LOCAL_TIME): st.times(),
    LocalTimeTypeInfo(LocalTime.LOCAL_DATE_TIME): st.datetimes(),
    Types.PRIMITIVE_ARRAY(Types.BYTE()): st.binary(max_size=8),
}
HASHABLE = [declared for declared in BASIC if declared != Types.PICKLED_BYTE_ARRAY()]


def _extend(pairs):
    """Types built of types, each with a strategy of values in the shape operators receive."""

    def rows(fields):
        declared = Types.ROW([kind for kind, _ in fields])
        parts = st.tuples(*(held for _, held in fields))
        return declared, st.builds(
            lambda kind, values: _named(declared, kind, values), st.sampled_from(RowKind), parts
        )

    several = st.lists(pairs, min_size=1, max_size=3)
    return st.one_of(
        several.map(rows),
        several.map(
            lambda fields: (
                Types.TUPLE([kind for kind, _ in fields]),
                st.tuples(*(held for _, held in fields)),
            )
        ),
        pairs.map(lambda pair: (Types.LIST(pair[0]), st.lists(pair[1], max_size=3))),
        pairs.map(lambda pair: (Types.OBJECT_ARRAY(pair[0]), st.lists(pair[1], max_size=3))),
        st.tuples(st.sampled_from(HASHABLE), pairs).map(
            lambda both: (
                Types.MAP(both[0], both[1][0]),
                st.dictionaries(BASIC[both[0]], both[1][1], max_size=3),
            )
        ),
    )


def _named(declared, kind, values):
    row = Row.of_kind(kind, *values)
    row.set_field_names(declared.get_field_names())
    return row


typed = st.recursive(
    st.sampled_from(list(BASIC)).map(lambda kind: (kind, BASIC[kind] | st.none())),
    _extend,
    max_leaves=6,
)
typed_values = typed.flatmap(lambda pair: st.tuples(st.just(pair[0]), pair[1]))


@given(typed_values)
def test_a_value_in_shape_is_left_as_it_is(pair):
    declared, value = pair
    assert declared.coerce(value) == value
    assert declared.coerce(declared.coerce(value)) == value
    assert isinstance(declared.format(value), str)


@given(typed_values)
def test_internal_form_converts_back(pair):
    declared, value = pair
    assert declared.from_internal_type(declared.to_internal_type(value)) == value
    if not declared.need_conversion():
        assert declared.to_internal_type(value) is value


@given(typed)
def test_a_type_comes_back_from_plain_data(pair):
    declared, _ = pair
    data = json.loads(json.dumps(declared.to_data()))
    again = type_from_data(data)
    assert again == declared
    assert again.to_data() == declared.to_data() == data
    assert type_text(data) == str(declared)


def test_every_type_that_types_makes_comes_back_from_plain_data():
    makers = [getattr(Types, name) for name in vars(Types) if not name.startswith("_")]
    simple = [make() for make in makers if not inspect.signature(make).parameters]
    assert len(simple) == 16
    number, text = Types.LONG(), Types.STRING()
    made = [
        *simple,
        NAMED,
        Types.ROW([number, NAMED]),
        Types.ROW([]),
        Types.TUPLE([number, Types.TUPLE([])]),
        Types.PRIMITIVE_ARRAY(number),
        Types.BASIC_ARRAY(text),
        Types.OBJECT_ARRAY(NAMED),
        Types.MAP(text, Types.MAP(number, NAMED)),
        Types.LIST(Types.LIST(NAMED)),
        ExternalTypeInfo(NAMED),
        *map(LocalTimeTypeInfo, LocalTime),
    ]
    for declared in made:
        again = type_from_data(json.loads(json.dumps(declared.to_data())))
        assert (again, type(again)) == (declared, type(declared))
    assert type_from_data(NAMED.to_data()).get_field_index("name") == 1
    assert type_from_data(Types.ROW([number]).to_data()).get_field_index("f0") == -1


def test_the_text_of_a_type():
    both = Types.MAP(Types.STRING(), Types.TUPLE([NAMED, Types.ROW([Types.INT()])]))
    assert str(both) == "MAP<STRING, TUPLE<ROW<id: INT, name: STRING>, ROW<f0: INT>>>"
    assert str(Types.TUPLE([])) == "TUPLE<>" and str(Types.ROW([])) == "ROW<>"


class OfTheProgram(TypeInformation):
    def _arguments(self):
        return ()

    def coercer(self):
        return None


def test_a_type_of_a_program_is_described_but_not_made_again():
    data = Types.LIST(OfTheProgram()).to_data()
    described = {"module": __name__, "qualname": "OfTheProgram", "text": "OfTheProgram"}
    assert data == {"type": "LIST", "of": [{"type": "CLASS", **described}]}
    assert str(Types.LIST(OfTheProgram())) == "LIST<OfTheProgram>"
    with pytest.raises(PlanError, match="the type OfTheProgram cannot be made"):
        type_from_data(data)


@given(typed)
def test_types_are_values(pair):
    declared, _ = pair
    again = pickle.loads(pickle.dumps(declared))
    assert again == declared
    assert hash(again) == hash(declared)
    assert str(again) == str(declared) == repr(declared)
    assert declared != Types.TUPLE([declared])
    assert declared.coerce(None) is None
    assert declared.format(None) == "null"
    with pytest.raises(UnsupportedError):
        declared.get_java_type_info()


def test_types_differ():
    kinds = [
        *BASIC,
        Types.ROW([Types.INT()]),
        Types.ROW_NAMED(["a"], [Types.INT()]),
        Types.TUPLE([Types.INT()]),
        Types.LIST(Types.INT()),
        Types.BASIC_ARRAY(Types.INT()),
        Types.PRIMITIVE_ARRAY(Types.INT()),
        Types.OBJECT_ARRAY(Types.INT()),
        Types.MAP(Types.INT(), Types.STRING()),
        ExternalTypeInfo(Types.INT()),
    ]
    assert len(set(kinds)) == len(kinds)
    assert Types.INT() != "INT"
    assert Types.ROW([Types.INT()]) == Types.ROW_NAMED(["f0"], [Types.INT()])


@pytest.mark.parametrize(
    ("declared", "text"),
    [
        (Types.STRING(), "STRING"),
        (Types.ROW([Types.INT(), Types.STRING()]), "ROW<f0: INT, f1: STRING>"),
        (NAMED, "ROW<id: INT, name: STRING>"),
        (Types.TUPLE([Types.INT(), Types.SQL_DATE()]), "TUPLE<INT, SQL_DATE>"),
        (Types.MAP(Types.STRING(), Types.LIST(Types.BIG_DEC())), "MAP<STRING, LIST<BIG_DEC>>"),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), "PRIMITIVE_ARRAY<BYTE>"),
        (Types.PICKLED_BYTE_ARRAY(), "PICKLED_BYTE_ARRAY"),
        (LocalTimeTypeInfo(LocalTime.LOCAL_DATE_TIME), "LOCAL_DATE_TIME"),
        (ExternalTypeInfo(Types.INSTANT()), "EXTERNAL<INSTANT>"),
    ],
)
def test_text(declared, text):
    assert str(declared) == text


def test_row_type_fields():
    assert Types.ROW([Types.INT(), Types.INT()]).get_field_names() == ["f0", "f1"]
    assert NAMED.get_field_index("name") == 1
    assert Types.ROW([Types.INT()]).get_field_index("f0") == -1
    assert NAMED.get_field_types() == [Types.INT(), Types.STRING()]
    assert RowTypeInfo([Types.INT()], ["x"]).get_field_names() == ["x"]
    with pytest.raises(ValueError):
        NAMED.get_field_index("other")


@pytest.mark.parametrize(
    "build",
    [
        lambda: Types.ROW([Types.INT]),
        lambda: Types.TUPLE([int]),
        lambda: Types.LIST("STRING"),
        lambda: Types.MAP(Types.STRING(), None),
        lambda: Types.ROW_NAMED(["a"], [Types.INT(), Types.INT()]),
        lambda: Types.ROW_NAMED(["a", "a"], [Types.INT(), Types.INT()]),
        lambda: Types.PRIMITIVE_ARRAY(Types.STRING()),
        lambda: Types.BASIC_ARRAY(Types.ROW([Types.INT()])),
    ],
)
def test_types_that_cannot_be(build):
    with pytest.raises(PlanError):
        build()


class Index:
    def __index__(self):
        return 7


Pair = namedtuple("Pair", "id name")


@dataclass(frozen=True, slots=True)
class Person:
    id: int
    name: str


class Loose:
    def __init__(self):
        self.id = 1
        self.extra = 2


@pytest.mark.parametrize(
    ("declared", "value", "expected"),
    [
        (Types.INT(), True, 1),
        (Types.LONG(), Index(), 7),
        (Types.DOUBLE(), 3, 3.0),
        (Types.DOUBLE(), Decimal("0.5"), 0.5),
        (Types.FLOAT(), 0.1, struct.unpack("f", struct.pack("f", 0.1))[0]),
        (Types.FLOAT(), 2, 2.0),
        (Types.BIG_DEC(), 3, Decimal(3)),
        (Types.BIG_DEC(), 0.1, Decimal("0.1")),
        (Types.BIG_DEC(), "1.50", Decimal("1.50")),
        (Types.BIG_INT(), 2**100, 2**100),
        (Types.SQL_DATE(), dt.datetime(2020, 1, 2, 3), dt.date(2020, 1, 2)),
        (Types.LIST(Types.DOUBLE()), (1, 2), [1.0, 2.0]),
        (Types.LIST(Types.STRING()), deque(["a"]), ["a"]),
        (Types.PRIMITIVE_ARRAY(Types.INT()), array("i", [1, 2]), [1, 2]),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), bytearray(b"ab"), b"ab"),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), [1, -1], b"\x01\xff"),
        (Types.LIST(Types.BYTE()), [1, -1], [1, -1]),
        (Types.MAP(Types.STRING(), Types.DOUBLE()), OrderedDict(a=1), {"a": 1.0}),
        (Types.TUPLE([Types.INT(), Types.DOUBLE()]), [1, 2], (1, 2.0)),
        (Types.TUPLE([Types.INT()]), Row(1), (1,)),
        (Types.TUPLE([Types.PICKLED_BYTE_ARRAY()]), [[1]], ([1],)),
        (Types.ROW([Types.INT(), Types.STRING()]), (1, "a"), Row(f0=1, f1="a")),
        (Types.ROW([Types.INT(), Types.STRING()]), Row(x=1, y="a"), Row(f0=1, f1="a")),
        (NAMED, [1, "a"], Row(id=1, name="a")),
        (NAMED, Row(1, "a"), Row(id=1, name="a")),
        (NAMED, Row(name="a", id=1, more=3), Row(id=1, name="a")),
        (NAMED, {"name": "a", "id": 1, "more": 2}, Row(id=1, name="a")),
        (NAMED, {"id": 1}, Row(id=1, name=None)),
        (NAMED, Pair(1, "a"), Row(id=1, name="a")),
        (NAMED, Person(1, "a"), Row(id=1, name="a")),
        (NAMED, Loose(), Row(id=1, name=None)),
        (
            Types.ROW([Types.LIST(NAMED), Types.TUPLE([Types.DOUBLE()])]),
            ([(1, "a"), {"id": 2}], [3]),
            Row(f0=[Row(id=1, name="a"), Row(id=2, name=None)], f1=(3.0,)),
        ),
        (Types.ROW([Types.PICKLED_BYTE_ARRAY()]), ({1},), Row(f0={1})),
        (ExternalTypeInfo(Types.DOUBLE()), 1, 1.0),
    ],
)
def test_values_take_the_shape_of_their_type(declared, value, expected):
    result = declared.coerce(value)
    assert result == expected
    assert type(result) is type(expected)
    assert repr(result) == repr(expected)


def test_a_row_keeps_its_kind_and_its_order_of_fields():
    row = NAMED.coerce(Row.of_kind(RowKind.DELETE, name="a", id=1))
    assert row.get_row_kind() is RowKind.DELETE
    assert list(row) == [1, "a"]


def test_coercing_a_row_leaves_the_original_alone():
    original = Row(1, "a")
    Types.ROW([Types.PICKLED_BYTE_ARRAY(), Types.STRING()]).coerce(original)[0] = 9
    NAMED.coerce(original)[0] = 9
    assert original == Row(1, "a")


def test_pickled_needs_no_function():
    assert Types.PICKLED_BYTE_ARRAY().coercer() is None
    assert Types.INT().coercer()(3) == 3
    marker = object()
    assert Types.PICKLED_BYTE_ARRAY().coerce(marker) is marker


DEEP = Types.ROW_NAMED(
    ["who", "tags", "by"],
    [NAMED, Types.LIST(Types.TUPLE([Types.INT()])), Types.MAP(Types.STRING(), NAMED)],
)


@pytest.mark.parametrize(
    ("declared", "value", "field", "kind"),
    [
        (Types.INT(), "x", None, "INT"),
        (Types.INT(), 2**31, None, "INT"),
        (Types.INT(), 1.0, None, "INT"),
        (Types.BYTE(), -129, None, "BYTE"),
        (Types.SHORT(), 2**15, None, "SHORT"),
        (Types.LONG(), 2**63, None, "LONG"),
        (Types.STRING(), 1, None, "STRING"),
        (Types.STRING(), b"a", None, "STRING"),
        (Types.BOOLEAN(), 1, None, "BOOLEAN"),
        (Types.CHAR(), "ab", None, "CHAR"),
        (Types.CHAR(), "", None, "CHAR"),
        (Types.DOUBLE(), "1", None, "DOUBLE"),
        (Types.DOUBLE(), 10**400, None, "DOUBLE"),
        (Types.FLOAT(), 1e300, None, "FLOAT"),
        (Types.BIG_DEC(), "x", None, "BIG_DEC"),
        (Types.BIG_DEC(), True, None, "BIG_DEC"),
        (Types.BIG_INT(), 1.5, None, "BIG_INT"),
        (Types.INSTANT(), 5, None, "INSTANT"),
        (Types.SQL_DATE(), "2020-01-01", None, "SQL_DATE"),
        (Types.SQL_TIME(), dt.datetime(2020, 1, 1), None, "SQL_TIME"),
        (Types.SQL_TIMESTAMP(), dt.date(2020, 1, 1), None, "SQL_TIMESTAMP"),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), "ab", None, "PRIMITIVE_ARRAY<BYTE>"),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), [256], None, "PRIMITIVE_ARRAY<BYTE>"),
        (Types.LIST(Types.STRING()), "ab", None, "LIST<STRING>"),
        (Types.LIST(Types.INT()), {1}, None, "LIST<INT>"),
        (Types.LIST(Types.INT()), [1, "x"], "[1]", "INT"),
        (Types.MAP(Types.STRING(), Types.INT()), [1], None, "MAP<STRING, INT>"),
        (Types.MAP(Types.STRING(), Types.INT()), {"a": 1, "b": "x"}, "['b']", "INT"),
        (Types.MAP(Types.STRING(), Types.INT()), {1: 1}, "(key)", "STRING"),
        (Types.TUPLE([Types.INT()]), (1, 2), None, "TUPLE<INT>"),
        (Types.TUPLE([Types.INT()]), 5, None, "TUPLE<INT>"),
        (Types.TUPLE([Types.INT(), Types.INT()]), (1, "x"), "f1", "INT"),
        (NAMED, (1,), None, str(NAMED)),
        (NAMED, 5, None, str(NAMED)),
        (NAMED, "ab", None, str(NAMED)),
        (NAMED, Row(id=1), None, str(NAMED)),
        (Types.ROW([Types.INT()]), Loose(), None, "ROW<f0: INT>"),
        (Types.ROW([Types.INT(), NAMED]), (1, (1, 2)), "f1.name", "STRING"),
        (DEEP, ((1, 2), [], {}), "who.name", "STRING"),
        (DEEP, (None, [(1,), ("x",)], {}), "tags[1].f0", "INT"),
        (DEEP, (None, [], {"k": ("x", "y")}), "by['k'].id", "INT"),
    ],
)
def test_a_mismatch_names_field_value_and_type(declared, value, field, kind):
    with pytest.raises(TypeMismatchError) as caught:
        declared.coerce(value)
    assert caught.value.where.get("field") == field
    assert caught.value.where["declared"] == kind
    assert f"declared type {kind}:" in str(caught.value)
    assert isinstance(caught.value, TypeError)


def test_a_long_value_is_cut_in_the_message():
    with pytest.raises(TypeMismatchError) as caught:
        Types.INT().coerce("x" * 10_000)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("declared", "value", "text"),
    [
        (Types.STRING(), "hi", "hi"),
        (Types.BOOLEAN(), True, "true"),
        (Types.INT(), -3, "-3"),
        (Types.BIG_DEC(), Decimal("1E+3"), "1E+3"),
        (Types.ROW([Types.INT(), Types.STRING()]), Row(1, "hi"), "+I[1, hi]"),
        (NAMED, Row.of_kind(RowKind.DELETE, id=1, name=None), "-D[1, null]"),
        (Types.ROW([NAMED]), Row(Row.of_kind(RowKind.UPDATE_AFTER, 1, "a")), "+I[+U[1, a]]"),
        (Types.TUPLE([Types.INT(), Types.STRING()]), (1, "hi"), "(1,hi)"),
        (Types.LIST(Types.DOUBLE()), [1.0, None], "[1.0, null]"),
        (Types.OBJECT_ARRAY(NAMED), [Row(1, "a")], "[+I[1, a]]"),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"\x01\xff", "[1, -1]"),
        (Types.MAP(Types.STRING(), Types.BOOLEAN()), {"a": False, "b": None}, "{a=false, b=null}"),
        (Types.PICKLED_BYTE_ARRAY(), (1, "hi"), "(1, 'hi')"),
        (Types.SQL_DATE(), dt.date(2020, 1, 2), "2020-01-02"),
        (Types.SQL_TIME(), dt.time(3, 4, 5, 600_000), "03:04:05"),
        (Types.SQL_TIMESTAMP(), dt.datetime(2020, 1, 2, 3, 4, 5), "2020-01-02 03:04:05.0"),
        (Types.SQL_TIMESTAMP(), dt.datetime(2020, 1, 2, 3, 4, 5, 67), "2020-01-02 03:04:05.000067"),
        (Types.SQL_TIMESTAMP(), dt.datetime(1, 1, 2, 3, 4, 5), "0001-01-02 03:04:05.0"),
        (Types.INSTANT(), Instant(0, 0), "1970-01-01T00:00:00Z"),
        (Types.INSTANT(), Instant(-1, 500_000_000), "1969-12-31T23:59:59.500Z"),
        (LocalTimeTypeInfo(LocalTime.LOCAL_DATE), dt.date(2020, 1, 2), "2020-01-02"),
        (LocalTimeTypeInfo(LocalTime.LOCAL_TIME), dt.time(3, 4), "03:04"),
        (LocalTimeTypeInfo(LocalTime.LOCAL_TIME), dt.time(3, 4, 5), "03:04:05"),
        (
            LocalTimeTypeInfo(LocalTime.LOCAL_DATE_TIME),
            dt.datetime(2020, 1, 2, 3, 4, 0, 1000),
            "2020-01-02T03:04:00.001",
        ),
        (ExternalTypeInfo(Types.BOOLEAN()), False, "false"),
    ],
)
def test_text_of_values_is_flinks(declared, value, text):
    assert declared.format(value) == text


# What Double.toString and Float.toString give in JDK 19 and newer.
@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1.0"),
        (-0.0, "-0.0"),
        (0.1, "0.1"),
        (100.0, "100.0"),
        (123456.789, "123456.789"),
        (1e-3, "0.001"),
        (9.99e-4, "9.99E-4"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (-1.25e10, "-1.25E10"),
        (5e-324, "5.0E-324"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
    ],
)
def test_doubles(value, text):
    assert Types.DOUBLE().format(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1, "0.1"),
        (1 / 3, "0.33333334"),
        (16777216.0, "1.6777216E7"),
        (3.4028234663852886e38,) * 2,
    ],
)
def test_floats(value, text):
    expected = "3.4028235E38" if isinstance(text, float) else text
    assert Types.FLOAT().format(Types.FLOAT().coerce(value)) == expected


@given(st.floats(allow_nan=False))
def test_a_doubles_text_reads_back(value):
    assert float(Types.DOUBLE().format(value).replace("Infinity", "inf")) == value


@given(st.floats(width=32, allow_nan=False))
def test_a_floats_text_reads_back(value):
    text = Types.FLOAT().format(value).replace("Infinity", "inf")
    assert Types.FLOAT().coerce(float(text)) == value


def test_zones_in_internal_forms():
    zone = dt.timezone(dt.timedelta(hours=2))
    at = dt.datetime(1970, 1, 1, 2, 0, 1, tzinfo=zone)
    assert Types.SQL_TIMESTAMP().to_internal_type(at) == 1_000_000
    assert Types.SQL_TIME().to_internal_type(dt.time(1, 0, tzinfo=zone)) == 23 * 3_600_000_000
    assert Types.SQL_DATE().to_internal_type(dt.date(1970, 1, 2)) == 1
    assert NAMED.to_internal_type(Row.of_kind(RowKind.DELETE, 1, "a")) == (3, 1, "a")
    assert NAMED.to_internal_type({"id": 1, "name": "a"}) == (0, 1, "a")
    assert Types.SQL_TIMESTAMP().coerce(at) is at


def test_numpy_scalars_and_arrays():
    numpy = pytest.importorskip("numpy")
    assert type(Types.INT().coerce(numpy.int64(3))) is int
    assert type(Types.DOUBLE().coerce(numpy.float32(0.5))) is float
    assert Types.BOOLEAN().coerce(numpy.bool_(True)) is True
    assert Types.LIST(Types.LONG()).coerce(numpy.arange(3)) == [0, 1, 2]
