"""What a test of a program imports before it runs."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow


def test_a_pipeline_of_rows_starts_without_pyarrow() -> None:
    code = (
        "import sys; from headrace.testing import run_pipeline;"
        "print(*{'pyarrow', 'numpy', 'pandas'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
