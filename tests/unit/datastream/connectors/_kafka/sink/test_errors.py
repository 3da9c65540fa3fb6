"""Which errors of Kafka a retry may get past."""

from __future__ import annotations

from itertools import repeat
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.datastream.connectors._kafka.sink.errors import is_retriable


def failed(**what: bool) -> Any:
    """An error that is retriable, and what else is said of it."""
    said = {"retriable": True, "fatal": False, "txn_requires_abort": False, **what}
    answers = {"name": "SOME_ERROR", **said}
    return SimpleNamespace(**{name: repeat(value).__next__ for name, value in answers.items()})


@pytest.mark.parametrize(
    ("what", "passes"),
    [
        ({}, True),
        ({"retriable": False}, False),
        ({"fatal": True}, False),
        ({"txn_requires_abort": True}, False),
    ],
)
def test_a_fatal_error_and_one_that_ends_the_transaction_do_not_pass(
    what: dict[str, bool], passes: bool
) -> None:
    assert is_retriable(failed(**what)) is passes
