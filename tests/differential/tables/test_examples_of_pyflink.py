"""PyFlink's own table examples, with the first word of their imports changed.

They are in the package of PyFlink, which ``make bench`` installs; without it nothing runs. All must
run to their end on the local runner, but for those that need what is refused by name.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.differential.tables.corpus import _IMPORTED

pytestmark = [pytest.mark.differential, pytest.mark.slow]

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted(
    each
    for each in (ROOT / ".venv-bench").glob(
        "pyflink/lib/python3*/site-packages/pyflink/examples/table/**/*.py"
    )
    if each.stem != "__init__"
)
REFUSED = {"basic_operations": "Table.join", "over_window": "Table.over_window"}
ENDLESS = {"streaming_word_count": "+U["}
"""What is printed by those that have no end."""
COMMAND = [sys.executable, "-u", "-c", "from headrace.cli import main; main()", "run", "--local"]


@pytest.mark.skipif(not EXAMPLES, reason="PyFlink is not installed in .venv-bench")
def test_there_are_examples() -> None:
    assert {*REFUSED, *ENDLESS} < {each.stem for each in EXAMPLES}
    assert len(EXAMPLES) >= 12


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example(example: Path, tmp_path: Path) -> None:
    program = tmp_path / example.name
    program.write_text(_IMPORTED.sub(r"\g<1>headrace", example.read_text("utf-8")), "utf-8")
    with subprocess.Popen(
        [*COMMAND, program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        if example.stem in ENDLESS:
            assert any(ENDLESS[example.stem] in line for line in process.stdout)
            process.terminate()
            return
        printed, _ = process.communicate(timeout=120)
    if example.stem in REFUSED:
        assert f"UnsupportedError: {REFUSED[example.stem]} is not supported" in printed
    else:
        assert process.returncode == 0, printed
