"""A job whose classes and types of state change between its versions, on Spark and in one process.

Each version is a process of its own, with another module of classes. One goes on from the
checkpoint of the version before it, one from a savepoint; the last is read by the local runner.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

KEYS = 12

MODELS = [
    """
@dataclass
class Position:
    symbol: str
    quantity: int
    comment: str = "none"

ROW = Types.ROW_NAMED(["count", "note"], [Types.INT(), Types.STRING()])
COUNT = ValueStateDescriptor("count", ROW)
HISTORY = ListStateDescriptor("history", Types.INT())
item = int
LIMITS = MapStateDescriptor("limits", Types.STRING(), Types.INT())

LAST = ValueStateDescriptor("last", avro({"name": "n", "type": "int"}))

def next_last(before):
    return {"n": (before["n"] if before else 0) + 1}

def next_position(before, symbol):
    return Position(symbol, (before.quantity if before else 0) + 1)

def next_count(before):
    return Row(count=(before.count if before else 0) + 1, note="n")

def text(position, count, history, limit):
    return f"{position.symbol} {position.quantity} {count.count} {[*history]} {limit}"
""",
    """
@dataclass
class Position:
    qty: int = field(metadata={"renamed_from": "quantity"})
    symbol: str = "?"
    venues: list = field(default_factory=list)

ROW = Types.ROW_NAMED(["seen", "venue"], [Types.LONG(), Types.STRING()])
COUNT = ValueStateDescriptor("count", ROW)
COUNT.evolve(renamed={"count": "seen"}, defaults={"venue": "XOFF"})
HISTORY = ListStateDescriptor("history", Types.STRING())
item = str
HISTORY.migrate(lambda old: f"at {old}")
LIMITS = MapStateDescriptor("limits", Types.STRING(), Types.DOUBLE())

LAST = ValueStateDescriptor(
    "last",
    avro(
        {"name": "number", "type": "double", "aliases": ["n"]},
        {"name": "venue", "type": "string", "default": "XOFF"},
    ),
)

def next_last(before):
    return {"venue": "new", **(before or {}), "number": (before["number"] if before else 0) + 1}

def next_position(before, symbol):
    before = before or Position(0, symbol)
    return Position(before.qty + 1, before.symbol, [*before.venues, "X"])

def next_count(before):
    return Row(seen=(before.seen if before else 0) + 1, venue=before.venue if before else "new")

def text(position, count, history, limit):
    return (
        f"{position.symbol} {position.qty} {position.venues} {count.seen} {count.venue}"
        f" {[*history]} {limit}"
    )
""",
]
MODELS.append(
    MODELS[1]
    .replace("    symbol:", "    desk: str = 'D'\n    symbol:")
    .replace("Position(0, symbol)", "Position(0, symbol=symbol)")
    .replace(
        "Position(before.qty + 1, before.symbol,", "Position(before.qty + 1, 'E', before.symbol,"
    )
    .replace("{position.qty}", "{position.qty} {position.desk}")
)

HEAD = """
import json
from dataclasses import dataclass, field

from headrace.common import Row, Types
from headrace.datastream.formats.avro import AvroSchema, GenericRecordAvroTypeInfo
from headrace.datastream.state import (
    ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor,
)

def avro(*fields):
    schema = {"type": "record", "name": "Last", "fields": [*fields]}
    return GenericRecordAvroTypeInfo(AvroSchema(json.dumps(schema)))
"""

SCRIPT = """
import os
import sys
import time
from pathlib import Path

from headrace.common import Configuration, Duration, Types, WatermarkStrategy
from headrace.datastream import KeyedBroadcastProcessFunction, StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import FileSource, StreamFormat
from headrace.datastream.connectors.function import FunctionSink
from headrace.datastream.state import ValueStateDescriptor
from models import (
    COUNT, HISTORY, LAST, LIMITS, item, next_count, next_last, next_position, text,
)


class Positions(KeyedBroadcastProcessFunction):
    def open(self, runtime_context):
        self.position = runtime_context.get_state(ValueStateDescriptor("position"))
        self.count = runtime_context.get_state(COUNT)
        self.last = runtime_context.get_state(LAST)
        self.history = runtime_context.get_list_state(HISTORY)

    def process_element(self, symbol, ctx):
        position = next_position(self.position.value(), symbol)
        self.position.update(position)
        self.count.update(next_count(self.count.value()))
        limit = ctx.get_broadcast_state(LIMITS).get("all")
        self.last.update(next_last(self.last.value()))
        last = [*self.last.value().values()]
        yield f"{last} " + text(position, self.count.value(), self.history.get(), limit)
        self.history.add(item(len([*self.history.get()])))

    def process_broadcast_element(self, limit, ctx):
        if limit == "7":
            ctx.get_broadcast_state(LIMITS).put("all", 7)
        return iter(())


def run(folder, lines, settings, savepoint):
    settings = {
        "parallelism.default": "2",
        "pipeline.max-parallelism": "16",
        "pipeline.name": "positions",
        **dict(each.split("=", 1) for each in settings),
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))

    def source(name):
        files = FileSource.for_record_stream_format(
            StreamFormat.text_line_format(), f"{folder}/{name}"
        ).monitor_continuously(Duration.of_millis(100)).build()
        return env.from_source(files, WatermarkStrategy.no_watermarks(), name).uid(name)

    limits = source("limits").broadcast(LIMITS)
    results = source("in").key_by(lambda symbol: symbol).connect(limits).process(
        Positions(), Types.STRING()
    ).uid("positions")
    out = f"{folder}/out"

    def write(lines):
        with open(f"{out}/{os.getpid()}", "a") as file:
            file.writelines(f"{line}\\n" for line in lines)

    results.sink_to(FunctionSink(write)).uid("out")
    client = env.execute_async()
    end = client.get_job_execution_result()
    while written(folder) < lines:
        assert not end.done(), end.result()
        time.sleep(0.1)
    if savepoint:
        print(client.stop_with_savepoint(False, f"{folder}/saved").result())
    else:
        client.cancel().result()


def written(folder):
    return sum(len(part.read_text().splitlines()) for part in Path(folder, "out").iterdir())


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), sys.argv[4:], sys.argv[3] == "savepoint")
"""


class Versions:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("in", "limits", "out"):
            (folder / name).mkdir()
        (folder / "job.py").write_text(SCRIPT)

    def run(
        self,
        version: int,
        symbols: list[str],
        *settings: str,
        savepoint: bool = False,
        lines: int = 0,
    ) -> tuple[list[str], subprocess.CompletedProcess[str]]:
        """Run a version on more symbols until it has so many results; return these."""
        for part in (self.folder / "out").iterdir():
            part.unlink()
        (self.folder / "models.py").write_text(HEAD + MODELS[version])
        name = f"{len(list((self.folder / 'in').iterdir()))}.txt"
        (self.folder / name).write_text("".join(f"{symbol}\n" for symbol in symbols))
        (self.folder / name).rename(self.folder / "in" / name)
        done = subprocess.run(
            [
                *(sys.executable, "job.py", str(self.folder), str(lines or len(symbols))),
                *("savepoint" if savepoint else "cancel", *settings),
            ],
            cwd=self.folder,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )
        parts = (self.folder / "out").iterdir()
        return sorted(line for part in parts for line in part.read_text().splitlines()), done


@pytest.mark.timeout(1500)
def test_state_follows_the_program(tmp_path: Path) -> None:
    versions = Versions(tmp_path)
    (tmp_path / "limits" / "1.txt").write_text("7\n")
    symbols = [f"S{n}" for n in range(KEYS)]
    place = f"execution.checkpointing.dir={tmp_path}/checkpoint"
    found, done = versions.run(0, symbols, place)
    assert done.returncode == 0, done.stderr
    assert {line.rpartition(" ")[0] for line in found} == {f"[1] {s} 1 1 []" for s in symbols}

    # From its checkpoint, with input for one key only; then a savepoint of all keys.
    found, done = versions.run(1, symbols[:1], place, savepoint=True)
    assert done.returncode == 0, done.stderr
    assert found == ["[2.0, 'XOFF'] S0 2 ['X'] 2 XOFF ['at 0'] 7.0"]
    saved = done.stdout.split()[-1]

    # Another version, from the savepoint: on Spark with other key groups, and on the local runner.
    expected = sorted(
        ["[3.0, 'XOFF'] S0 3 E ['X', 'X'] 3 XOFF ['at 0', '1'] 7.0"]
        + [f"[2.0, 'XOFF'] {s} 2 E ['X'] 2 XOFF ['at 0'] 7.0" for s in symbols[1:]]
    )
    places = [f"execution.checkpointing.dir={tmp_path}/other", "pipeline.max-parallelism=5"]
    restored = f"execution.state-recovery.path={saved}"
    found, done = versions.run(2, symbols, *places, restored)
    assert done.returncode == 0, done.stderr
    assert found == expected
    found, done = versions.run(2, [], restored, "execution.target=local", lines=KEYS)
    assert done.returncode == 0, done.stderr
    assert found == expected

    # The first version cannot read what the second has stored.
    refused, done = versions.run(0, [], restored, "execution.target=local", lines=1)
    assert not refused and done.returncode == 1
    assert "the state 'limits' of operator 'Keyed-Co-Process" in done.stderr, done.stderr
    assert "differences: value was DOUBLE, is INT now" in done.stderr
