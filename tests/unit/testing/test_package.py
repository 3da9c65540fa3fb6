"""What ``headrace.testing`` offers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]


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
