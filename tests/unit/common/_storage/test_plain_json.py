"""Values as JSON and back; only what a user has made is pickled."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common._storage.plain_json import from_json, to_json

ATOMIC_TYPES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
    | st.binary(max_size=5)
)
VALUES = st.recursive(
    ATOMIC_TYPES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.integers() | st.text("ab"), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(VALUES)
def test_comes_back_as_it_was(value: Any) -> None:
    text = json.dumps(to_json(value))
    assert repr(from_json(json.loads(text))) == repr(value)


@pytest.mark.parametrize("value", [Decimal("1.50"), {1, 2}, (3, Decimal(1)), 1j])
def test_what_json_does_not_know_is_pickled_by_itself(value: Any) -> None:
    plain = to_json(value)
    assert from_json(json.loads(json.dumps(plain))) == value
    assert "pickle" in json.dumps(plain)
