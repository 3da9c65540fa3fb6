"""How many examples property tests try: as they say, or many times more in ``make proof``."""

from __future__ import annotations

import os

EFFORT = int(os.environ.get("HEADRACE_TEST_EFFORT", "1"))


def examples(count: int) -> int:
    """``count``, times the whole number in the environment variable ``HEADRACE_TEST_EFFORT``."""
    return count * EFFORT
