"""Record what Flink SQL answers to the statements of the corpus, into ``goldens/``.

Run it at the root of the repository, with an interpreter that has ``apache-flink`` installed and
its folder first on the PATH::

    python -m tests.differential.sql.record [--into FOLDER] [NAME ...]

A name is an area or ``area/case`` (or their beginnings); the others keep their goldens. The goldens
are facts: they come from here and are never edited by hand. All jobs run in one Flink cluster
inside the Java process, so that one costs less than a second.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import struct
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from datetime import time as time_of_day
from functools import partial
from pathlib import Path
from typing import Any

os.environ["TZ"] = "UTC"  # before the Java process starts

from tests.differential.encoding import canonical, encode
from tests.differential.sql.cases import DATA, GOLDENS, MODES, SETTINGS, Case, areas, cases

_CAUSE = re.compile(r"(?:Caused by: |: )?((?:[a-z]\w*\.)+[A-Z][\w$]*)(?:: (.*))?")
_NODE = re.compile(r"([ :|+-]*)(\w+)\(.*?(?:changelogMode=\[([\w,~]*)\])?\)?")
_NUMBERED = re.compile(r"\b(rel|RelSubset)#\d+")
_PLAN = "== Optimized Physical Plan =="


class Flink:
    """A cluster in the Java process of PyFlink, and environments that run their jobs on it."""

    def __init__(self) -> None:
        from pyflink.java_gateway import get_gateway

        flink = get_gateway().jvm.org.apache.flink
        self.configuration = flink.configuration.Configuration
        self.settings = flink.table.api.EnvironmentSettings
        self.table_environment = flink.table.api.TableEnvironment
        config = self.configuration()
        for key, value in (
            ("rest.address", "localhost"),
            ("rest.bind-port", "18650-18750"),
            ("taskmanager.memory.network.min", "32mb"),
            ("taskmanager.memory.network.max", "32mb"),
            ("taskmanager.memory.managed.size", "256mb"),
        ):
            config.setString(key, value)
        builder = flink.runtime.minicluster.MiniClusterConfiguration.Builder()
        made = builder.setConfiguration(config).setNumTaskManagers(1).setNumSlotsPerTaskManager(4)
        self.cluster = flink.runtime.minicluster.MiniCluster(made.build())
        self.cluster.start()
        self.port = self.cluster.getRestAddress().get().getPort()

    def environment(self, mode: str, settings: dict[str, str]) -> Any:
        """A fresh environment of Java: PyFlink's own looks up its classes again at each call."""
        config = self.configuration()
        own = {
            "execution.runtime-mode": mode.upper(),
            "execution.target": "remote",
            "rest.address": "localhost",
            "rest.port": str(self.port),
            "client.retry-period": "10 ms",
            "restart-strategy.type": "none",
        }
        for key, value in (own | SETTINGS | settings).items():
            config.setString(key, value)
        made = self.settings.newInstance().withConfiguration(config).build()
        return self.table_environment.create(made)


def refusal(error: Exception, when: str) -> dict[str, object]:
    """The failure as facts: when it came, and Java's causes, each by its first line."""
    lines = _NUMBERED.sub(r"\1#", str(error)).splitlines()  # numbers that count on in a process
    found = [_CAUSE.fullmatch(line) for line in lines]
    causes = [[each[1], (each[2] or "")[:400]] for each in found if each]
    kept = causes[:1] + causes[-1:] if len(causes) > 1 else causes
    return {"when": when, "type": type(error).__name__, "causes": kept}


def flinks_own(error: Exception) -> bool:
    """Whether Flink refused, and not PyFlink or this program failed."""
    from py4j.protocol import Py4JJavaError
    from pyflink.util.exceptions import JavaException

    return isinstance(error, Py4JJavaError | JavaException) and "razorvine" not in str(error)


def plan(text: str) -> list[str]:
    """The nodes of an explained physical plan, indented, with what each emits.

    A query alone is explained as if nobody wanted its -U; where its rows are collected, they come.
    """
    lines = text.split(_PLAN)[1].split("\n== ")[0].strip().splitlines()
    nodes = []
    for line in lines:
        node = _NODE.fullmatch(line)
        if node:
            depth, name, mode = node.groups()
            nodes.append(f"{'  ' * (len(depth) // 3)}{name} {mode or ''}".rstrip())
    return nodes


def columns(schema: Any) -> list[list[str]]:
    """Names and types."""
    return [
        [each.getName(), each.getDataType().getLogicalType().asSummaryString()]
        for each in schema.getColumns()
    ]


def rows(result: Any) -> list[list[object]]:
    """What a statement gives: each row with its kind, its cells as PyFlink would read them.

    They are read from Java, because PyFlink cannot collect instants, intervals, and NULLs inside
    of nested values.
    """
    columns = result.getResolvedSchema().getColumnDataTypes()
    readers = [reader(each.getLogicalType()) for each in columns]
    given = result.collect()
    found = []
    while given.hasNext():
        row = given.next()
        cells = [read(row.getField(at)) for at, read in enumerate(readers)]
        found.append([row.getKind().shortString(), *cells])
    given.close()
    return found


def reader(logical: Any) -> Callable[[Any], object]:
    """What encodes a Java value of this type as the Python value it is for PyFlink."""
    name = logical.getTypeRoot().name()
    inner = [reader(each) for each in logical.getChildren()]
    read = partial(READERS.get(name, lambda value, inner: encode(value)), inner=inner)
    return lambda value: None if value is None else read(value)


def row(value: Any, inner: Inner) -> object:
    """A Row of Java."""
    cells = [read(value.getField(at)) for at, read in enumerate(inner)]
    return {"row": cells, "names": None, "kind": "INSERT"}


def mapping(value: Any, inner: Inner) -> object:
    """A Map of Java; a multiset is one from values to numbers."""
    of_key, of_value = (*inner, int)[:2]
    pairs = [
        [
            of_key(each.getKey()),
            of_value(each.getValue()),
        ]  # not by key: py4j takes a Long as an int
        for each in value.entrySet()
    ]
    return {"dict": sorted(pairs, key=canonical)}


def duration(value: Any, inner: Inner) -> object:
    """A Duration of Java."""
    micros = value.getNano() // 1000
    return encode(timedelta(seconds=value.getSeconds(), microseconds=micros))


Inner = list[Callable[[Any], object]]
READERS: dict[str, Callable[[Any, Inner], object]] = {
    "ROW": row,
    "ARRAY": lambda value, inner: {"list": [inner[0](each) for each in value]},
    "MAP": mapping,
    "MULTISET": mapping,
    "INTERVAL_DAY_TIME": duration,
    "INTERVAL_YEAR_MONTH": lambda value, inner: {"months": value.toTotalMonths()},
    "TIMESTAMP_WITH_LOCAL_TIME_ZONE": lambda value, inner: {
        "instant": [value.getEpochSecond(), value.getNano()]
    },
    "TIMESTAMP_WITHOUT_TIME_ZONE": lambda value, inner: encode(
        datetime.fromisoformat(value.toString()[:26])
    ),
    "TIME_WITHOUT_TIME_ZONE": lambda value, inner: encode(
        time_of_day.fromisoformat(value.toString())
    ),
    "DATE": lambda value, inner: {"date": value.toString()},
    "FLOAT": lambda value, inner: encode(struct.unpack("f", struct.pack("f", value))[0]),
    "BINARY": lambda value, inner: encode(bytearray(value)),
    "VARBINARY": lambda value, inner: encode(bytearray(value)),
}


def answer(env: Any, case: Case, folder: Path, mode: str, stdout: Path) -> dict[str, object]:
    """What Flink says to the last statement of the case, or where it refused."""
    *before, last = case.script(DATA, folder)
    when = "before"
    try:
        for statement in before:
            made = env.executeSql(statement)
            if writes(statement):
                getattr(made, "await")()
        when = "plan"
        word = last.split()[0].upper()
        if case.show == "schema":
            schema = env.sqlQuery(last).getResolvedSchema()
            return {"columns": columns(schema), **explained(env, last, mode)}
        start = stdout.stat().st_size
        result = env.executeSql(last)
        if word == "EXPLAIN":
            return {"plan": plan(rows(result)[0][1])}
        when = "run"
        if writes(last):
            getattr(result, "await")()
            with stdout.open("rb") as file:
                file.seek(start)
                return {"printed": file.read().decode("utf-8").splitlines()}
        found = {"columns": columns(result.getResolvedSchema()), "rows": rows(result)}
        query = word in ("SELECT", "WITH", "VALUES") or word.startswith("(")
        return found | (explained(env, last, mode) if query else {})
    except Exception as error:  # the refusal is the fact to record
        if not flinks_own(error):
            raise
        return {"refused": refusal(error, when)}


def writes(statement: str) -> bool:
    """Whether the statement starts a job that writes."""
    return re.match(r"INSERT|EXECUTE|CREATE TABLE.*\bAS SELECT\b", statement, re.S) is not None


def explained(env: Any, query: str, mode: str) -> dict[str, list[str]]:
    """The plan of a query with what each of its nodes emits; a batch emits rows only."""
    if mode == "batch":
        return {}
    return {"plan": plan(rows(env.executeSql(f"EXPLAIN CHANGELOG_MODE {query}"))[0][1])}


def text(golden: dict[str, Any]) -> str:
    """A golden as JSON, with one row of an answer per line."""
    flat = json.dumps(golden, ensure_ascii=False)
    inner = golden.get("rows")
    if not inner:
        return flat
    lines = ",\n  ".join(json.dumps(each, ensure_ascii=False) for each in inner)
    head = {key: value for key, value in golden.items() if key != "rows"}
    return f'{json.dumps(head, ensure_ascii=False)[:-1]}, "rows": [\n  {lines}\n]}}'


def write(area: str, goldens: dict[tuple[str, str], dict[str, Any]], into: Path) -> None:
    """Write an area's file, in the order of its cases."""
    order = [(case.name, mode) for case in cases(area) for mode in case.modes]
    parts = [text(goldens[key]) for key in order if key in goldens]
    into.mkdir(parents=True, exist_ok=True)
    (into / f"{area}.json").write_text("[\n" + ",\n".join(parts) + "\n]\n", encoding="utf-8")


def stdout_into(path: Path) -> None:
    """Send file descriptor 1, which the Java process inherits, into ``path``."""
    sys.stdout.flush()
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
    os.dup2(descriptor, 1)
    os.close(descriptor)


def main() -> int:
    """Record what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--mode", choices=MODES)
    parser.add_argument("--new", action="store_true", help="only what has no golden")
    parser.add_argument("--into", type=Path, default=GOLDENS, help="another folder, to compare")
    chosen = parser.parse_args()
    scratch = Path(tempfile.mkdtemp())
    stdout = scratch / "stdout.txt"
    stdout_into(stdout)
    flink = Flink()
    for area in areas():
        path = chosen.into / f"{area}.json"
        kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
        goldens = {(each["case"], each["mode"]): each for each in kept}
        for case in cases(area):
            full = f"{area}/{case.name}"
            if chosen.names and not any(full.startswith(name) for name in chosen.names):
                continue
            for mode in case.modes:
                if chosen.mode not in (None, mode) or (chosen.new and (case.name, mode) in goldens):
                    continue
                started = time.monotonic()
                folder = scratch / area / case.name / mode
                folder.mkdir(parents=True)
                env = flink.environment(mode, case.settings)
                try:
                    given = answer(env, case, folder, mode, stdout)
                except Exception as error:  # not Flink's own: nothing to record
                    sys.stderr.write(f"UNREADABLE {full} {mode}: {error}\n")
                    goldens.pop((case.name, mode), None)
                    continue
                goldens[case.name, mode] = {"case": case.name, "mode": mode, **given}
                refused = given.get("refused")
                said = f"refused: {refused}" if refused else "ok"
                took = time.monotonic() - started
                sys.stderr.write(f"{full} {mode} {took:.1f} s {said}\n")
            write(area, goldens, chosen.into)  # at once: a long run may be stopped
    flink.cluster.close()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
