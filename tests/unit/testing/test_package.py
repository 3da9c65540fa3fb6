"""What ``headrace.testing`` offers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headrace import testing

ROOT = Path(__file__).parents[3]


def test_every_name_is_there() -> None:
    for name in testing.__all__:
        assert getattr(testing, name).__name__ == name
    assert set(testing.__all__) <= set(dir(testing))
    assert set(testing._HOMES) == set(testing.__all__)


def test_another_name_is_not() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Harness'"):
        _ = testing.Harness


def test_the_harness_needs_neither_pytest_nor_spark() -> None:
    code = (
        "import sys; sys.modules['pytest'] = sys.modules['pyspark'] = None;"
        "from headrace.testing import KeyedHarness, ProcessHarness, run_pipeline;"
        "print(run_pipeline(lambda env: env.from_collection([1, 2])).only)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "[1, 2]\n", done.stderr
