"""Lets pytest explain the assertions of the inherited suites."""

import pytest

pytest.register_assert_rewrite("headrace.testing.contracts")
