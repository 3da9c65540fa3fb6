"""Lists and maps in accumulators."""

from __future__ import annotations

import pickle

import pytest

from headrace.table.data_view import ListView, MapView


def test_a_list() -> None:
    view: ListView[int] = ListView()
    view.add(1)
    view.add_all([2, 3])
    assert [*view] == [*view.get()] == [1, 2, 3]
    assert pickle.loads(pickle.dumps(view)) == view
    assert view != ListView()
    view.clear()
    assert view == ListView()


def test_a_map() -> None:
    view: MapView[str, int] = MapView()
    assert view.is_empty()
    view["a"] = 1
    view.put("b", 2)
    view.put_all({"c": 3})
    assert (view["a"], view.get("b"), "c" in view, view.contains("d")) == (1, 2, True, False)
    del view["a"]
    view.remove("b")
    assert [*view] == [*view.keys()] == ["c"]
    assert ([*view.values()], [*view.items()]) == ([3], [("c", 3)])
    assert pickle.loads(pickle.dumps(view)) == view
    with pytest.raises(KeyError):
        view.get("a")
    view.clear()
    assert view == MapView()


def test_entries_are_removed_while_a_map_is_read() -> None:
    view = MapView[str, int]()
    view.put_all({"a": 1, "b": 2, "c": 3, "d": 4})
    keys = view.keys()
    with pytest.raises(RuntimeError, match="needs a next"):
        keys.remove()
    assert next(keys) == "a"
    keys.remove()
    with pytest.raises(RuntimeError, match="needs a next"):
        keys.remove()
    values = view.values()
    assert next(values) == 2
    values.remove()
    entries = view.items()
    next(entries)
    assert next(entries) == ("d", 4)
    entries.remove()
    assert [*view] == ["c"]
    assert [*keys] == ["b", "c", "d"]
