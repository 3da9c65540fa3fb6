"""What functions need beside their job, on a session that runs already, and has had another."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

SCRIPT = """
import importlib.util
import os
import sys

from headrace.common import Configuration
from headrace.datastream import KeyedProcessFunction, MapFunction, StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import FileSource, StreamFormat
from headrace.datastream.state import ValueStateDescriptor

# As a notebook has it: the driver knows a module from elsewhere, whose classes the records are of.
spec = importlib.util.spec_from_file_location("needed", "one/needed.py")
needed = sys.modules["needed"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(needed)


class Reads(MapFunction):
    def open(self, runtime_context):
        import packaged
        import zipped
        self.texts = [zipped.NAME, packaged.NAME]
        for name in ("data/a.txt", "by-name"):
            with open(name) as file:
                self.texts.append(file.read())

    def map(self, value):
        import needed
        return needed.Record(value, (needed.NAME, *self.texts))


class Last(KeyedProcessFunction):
    def open(self, runtime_context):
        self.last = runtime_context.get_state(ValueStateDescriptor("last"))

    def process_element(self, record, ctx):
        before = self.last.value()
        self.last.update(record)
        yield record.value, record.texts, before is None or type(before) is type(record)


def run(folder, mode):
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"execution.runtime-mode": mode, "parallelism.default": "2",
                                 "headrace.source.max-records-per-batch": "2"})
    )
    env.add_python_file(f"{folder}/needed.py")
    env.add_python_file("zipped.zip")
    env.add_python_archive("archive.zip", "data")
    env.set_python_requirements("requirements.txt", "cache")
    env.register_cached_file(f"{folder}/cached", "by-name")
    lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "in.txt").build()
    stream = env.from_source(lines, None, "lines").map(Reads()).key_by(lambda r: [r.value])
    with stream.process(Last()).execute_and_collect() as results:
        print(sorted(results))


env = StreamExecutionEnvironment.get_execution_environment()
print(env.from_collection([1]).execute_and_collect("first", 1))  # from here on the session runs
for folder, mode in (("one", "STREAMING"), ("two", "BATCH")):
    run(folder, mode)
"""


def zipped(path: Path, files: dict[str, str]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)


def test_jobs_bring_what_they_need_to_a_running_session(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(SCRIPT)
    (tmp_path / "in.txt").write_text("a\nb\na\n")
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "needed.py").write_text(
            "from typing import Any, NamedTuple\n\n\n"
            "class Record(NamedTuple):\n    value: Any\n    texts: Any\n\n\n"
            f"NAME = {'file ' + folder!r}\n"
        )
        (tmp_path / folder / "cached").write_text(f"cached {folder}")
    zipped(tmp_path / "zipped.zip", {"zipped.py": "NAME = 'zip'"})
    zipped(tmp_path / "archive.zip", {"a.txt": "archive"})
    (tmp_path / "requirements.txt").write_text("packaged==1.0\n")
    (tmp_path / "cache").mkdir()
    info = "packaged-1.0.dist-info"
    zipped(
        tmp_path / "cache" / "packaged-1.0-py3-none-any.whl",
        {
            "packaged.py": "NAME = 'package'",
            f"{info}/METADATA": "Metadata-Version: 2.1\nName: packaged\nVersion: 1.0\n",
            f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            f"{info}/RECORD": "",
        },
    )
    done = subprocess.run(
        [sys.executable, "job.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    expected = [
        [
            (value, (f"file {folder}", "zip", "package", "archive", f"cached {folder}"), True)
            for value in ("a", "a", "b")
        ]
        for folder in ("one", "two")
    ]
    assert done.stdout.splitlines() == ["[1]", *map(str, expected)], done.stderr[-3000:]
