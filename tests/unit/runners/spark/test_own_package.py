"""Headrace in a zip file, for executors that do not have it."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import headrace
from headrace.runners.spark.own_package import write_package

PROGRAM = """
import sys
sys.path = [each for each in sys.path if "headrace" not in each and not each.endswith("src")]
sys.path.insert(0, sys.argv[1])
import headrace.datastream
from headrace.common._options.flink_keys import is_flink_key
print(headrace.__file__.startswith(sys.argv[1]), is_flink_key("taskmanager.numberOfTaskSlots"))
"""


@pytest.mark.slow
def test_it_works_from_the_zip_file(tmp_path: Path) -> None:
    packed = write_package(Path(headrace.__file__).parent, tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(packed)], capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["True", "True"], done.stderr


def test_its_name_tells_versions_apart(tmp_path: Path) -> None:
    package = tmp_path / "package"
    (package / "dev").mkdir(parents=True)
    (package / "dev" / "not_needed.py").touch()
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "other.pyc").touch()
    (package / "__init__.py").write_text("A = 1")
    first = write_package(package, tmp_path)
    assert zipfile.ZipFile(first).namelist() == ["package/__init__.py"]
    shutil.move(first, tmp_path / "before.zip")
    assert write_package(package, tmp_path).name == first.name
    (package / "__init__.py").write_text("A = 2")
    assert write_package(package, tmp_path).name != first.name
