import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common import Row, RowKind
from headrace.common.types import row_of

plain = st.none() | st.integers() | st.text(max_size=5)
names = st.lists(st.from_regex(r"[a-z]{1,4}", fullmatch=True), unique=True, max_size=4)
positional = st.builds(lambda values: Row(*values), st.lists(plain, max_size=4))
named = names.flatmap(
    lambda keys: st.lists(plain, min_size=len(keys), max_size=len(keys)).map(
        lambda values: Row(**dict(zip(keys, values, strict=True)))
    )
)
rows = st.builds(
    lambda row, kind: Row.of_kind(kind, *row) if not hasattr(row, "_fields") else row,
    positional | named,
    st.sampled_from(RowKind),
)


def test_fields_by_position_and_by_name():
    row = Row(id=1, name="a")
    assert (row[0], row["id"], row.id, row[-1], row[0:2]) == (1, 1, 1, "a", [1, "a"])
    assert list(row) == [1, "a"]
    assert len(row) == 2
    assert row._fields == ["id", "name"]
    assert row._values == [1, "a"]
    assert "id" in row and "a" not in row
    assert "a" in Row(1, "a")


def test_named_fields_keep_the_order_written():
    assert Row(name="Alice", age=11)._fields == ["name", "age"]


def test_fields_can_be_set():
    row = Row(id=1, name="a")
    row[0] = 2
    row["name"] = "b"
    assert row == Row(id=2, name="b")
    with pytest.raises(KeyError):
        row["none"] = 1
    with pytest.raises(AttributeError):
        row.other = 1


def test_a_row_is_a_factory_of_rows():
    person = Row("name", "age")
    assert person("Alice", 11) == Row(name="Alice", age=11)
    with pytest.raises(ValueError, match="2 fields, got 3"):
        person("Alice", 11, 12)


def test_missing_fields():
    with pytest.raises(AttributeError, match="no field 'b'"):
        _ = Row(a=1).b
    with pytest.raises(AttributeError):
        _ = Row(1).a
    with pytest.raises(KeyError):
        Row(a=1)["b"]
    with pytest.raises(IndexError):
        Row(1)[1]
    assert not hasattr(Row(1), "_fields")


def test_values_and_names_together_are_refused():
    with pytest.raises(ValueError, match="not both"):
        Row(1, a=2)


def test_as_dict():
    row = Row(key=1, value=Row(name="a", deep=[Row(x=1)], by={"k": Row(y=2)}))
    assert row.as_dict()["value"] is row.value
    assert row.as_dict(True) == {
        "key": 1,
        "value": {"name": "a", "deep": [{"x": 1}], "by": {"k": {"y": 2}}},
    }
    with pytest.raises(TypeError):
        Row(1).as_dict()


def test_kinds():
    row = Row.of_kind(RowKind.DELETE, 1, 2)
    assert row.get_row_kind() is RowKind.DELETE
    assert row != Row(1, 2)
    row.set_row_kind(RowKind.INSERT)
    assert row == Row(1, 2)
    assert Row.of_kind(RowKind.UPDATE_AFTER, a=1)._fields == ["a"]
    assert [kind.sign for kind in RowKind] == ["+I", "-U", "+U", "-D"]


def test_names_given_later():
    row = Row(1, "a")
    row.set_field_names(["id", "name"])
    assert row.name == "a"
    assert row.get_fields_by_names(["name", "id"]) == ["a", 1]
    assert Row(1, 2).get_fields_by_names(["x"]) == [1, 2]
    with pytest.raises(KeyError, match="other"):
        row.get_fields_by_names(["other"])


def test_text_is_pyflinks():
    assert repr(Row(id=1, name="a")) == str(Row(id=1, name="a")) == "Row(id=1, name='a')"
    assert repr(Row(1, "a")) == "<Row(1, 'a')>"


def test_equality_looks_at_names_in_any_order():
    assert Row(a=1, b=2) == Row(b=2, a=1)
    assert hash(Row(a=1, b=2)) == hash(Row(b=2, a=1))
    assert Row(a=1) != Row(b=1)
    assert Row(a=1) != Row(1)
    assert Row(1) != (1,)
    assert len({Row(1, "x"), Row(1, "x"), Row(2, "x")}) == 2


def test_rows_compare_like_tuples():
    assert sorted([Row(2, "a"), Row(1, "b"), Row(1, "a")]) == [
        Row(1, "a"),
        Row(1, "b"),
        Row(2, "a"),
    ]
    assert Row(1) < Row(1, 2) <= Row(1, 2) < Row(3) > Row(2) >= Row(2)
    with pytest.raises(TypeError):
        _ = Row(1) < (1,)


@given(rows)
def test_rows_survive_pickling_and_copying(row):
    for again in (
        pickle.loads(pickle.dumps(row, 5)),
        copy.copy(row),
        copy.deepcopy(row),
    ):
        assert again == row
        assert hash(again) == hash(row)
        assert repr(again) == repr(row)
        assert again.get_row_kind() is row.get_row_kind()
        assert hasattr(again, "_fields") == hasattr(row, "_fields")


@given(rows, rows)
def test_equal_rows_have_equal_hashes(left, right):
    if left == right:
        assert hash(left) == hash(right)


def test_row_of_takes_over_what_it_is_given():
    values, fields = [1, 2], ["a", "b"]
    row = row_of(fields, values, RowKind.UPDATE_BEFORE)
    assert row._values is values and row._fields is fields
    assert row == Row.of_kind(RowKind.UPDATE_BEFORE, a=1, b=2)
