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
from datetime import datetime, timedelta
from datetime import time as time_of_day
from pathlib import Path
from typing import Any

os.environ["TZ"] = "UTC"  # before the Java process starts

from tests.differential.encoding import canonical, encode
from tests.differential.sql.cases import DATA, GOLDENS, SETTINGS, Case, areas, cases

_CAUSE = re.compile(r"(?:Caused by: |: )?((?:[a-z]\w*\.)+[A-Z][\w$]*)(?:: (.*))?")
_NODE = re.compile(r"([ :|+-]*)(\w+)\(.*?(?:changelogMode=\[([\w,~]*)\])?\)?")
_PLAN = "== Optimized Physical Plan =="


class Flink:
    """A cluster in the Java process of PyFlink, and environments that run their jobs on it."""

    def __init__(self) -> None:
        from pyflink.java_gateway import get_gateway

        self.jvm = get_gateway().jvm
        flink = self.jvm.org.apache.flink
        config = flink.configuration.Configuration()
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
        """A fresh environment."""
        from pyflink.common import Configuration
        from pyflink.table import EnvironmentSettings, TableEnvironment

        config = Configuration()
        own = {
            "execution.runtime-mode": mode.upper(),
            "execution.target": "remote",
            "rest.address": "localhost",
            "rest.port": str(self.port),
            "client.retry-period": "10 ms",
        }
        for key, value in (own | SETTINGS | settings).items():
            config.set_string(key, value)
        made = EnvironmentSettings.new_instance().with_configuration(config).build()
        return TableEnvironment.create(made)


def refusal(error: Exception, when: str) -> dict[str, object]:
    """The failure as facts: when it came, and Java's causes, each by its first line."""
    found = [_CAUSE.fullmatch(line) for line in str(error).splitlines()]
    causes = [[each[1], (each[2] or "")[:400]] for each in found if each]
    kept = causes[:1] + causes[-1:] if len(causes) > 1 else causes
    return {"when": when, "type": type(error).__name__, "causes": kept}


def flinks_own(error: Exception) -> bool:
    """Whether Flink refused, and not PyFlink or this program failed."""
    from py4j.protocol import Py4JJavaError
    from pyflink.util.exceptions import JavaException

    return isinstance(error, Py4JJavaError | JavaException) and "razorvine" not in str(error)


def plan(text: str) -> list[str]:
    """The nodes of an explained physical plan, indented, with what each emits."""
    lines = text.split(_PLAN)[1].split("\n== ")[0].strip().splitlines()
    nodes = []
    for line in lines:
        node = _NODE.fullmatch(line)
        if node:
            depth, name, mode = node.groups()
            nodes.append(f"{'  ' * (len(depth) // 3)}{name} {mode or ''}".rstrip())
    return nodes


def columns(result: Any) -> list[list[str]]:
    """Names and types of what a statement gives."""
    schema = result._j_table_result.getResolvedSchema()
    return [
        [each.getName(), each.getDataType().getLogicalType().asSummaryString()]
        for each in schema.getColumns()
    ]


def rows(result: Any) -> list[list[object]]:
    """What a statement gives: each row with its kind, as PyFlink reads it.

    Instants, intervals and NULLs inside of nested values PyFlink cannot collect; columns of such
    types are read from Java.
    """
    from pyflink.java_gateway import get_gateway
    from pyflink.table.types import _from_java_data_type
    from pyflink.table.utils import pickled_bytes_to_python_converter

    bridge = get_gateway().jvm.PythonBridgeUtils
    collected = result.collect()
    types, given = collected._j_field_data_types, collected._j_closeable_iterator
    logical = [each.getLogicalType() for each in types]
    apart = [at for at, each in enumerate(logical) if root(each) in APART]
    ours = [_from_java_data_type(each) for each in types]
    found = []
    while given.hasNext():
        row = given.next()
        cells = {at: from_java(row.getField(at), logical[at]) for at in apart}
        for at in apart:
            row.setField(at, None)
        parts = bridge.getPickledBytesFromRow(row, types)
        read = [
            encode(pickled_bytes_to_python_converter(part, each) if len(part) else None)
            for part, each in zip(list(parts)[1:], ours, strict=True)
        ]
        kind = row.getKind().shortString()
        found.append([kind, *(cells.get(at, cell) for at, cell in enumerate(read))])
    given.close()
    return found


APART = {"TIMESTAMP_WITH_LOCAL_TIME_ZONE", "INTERVAL_DAY_TIME", "INTERVAL_YEAR_MONTH"}
APART |= {"ROW", "STRUCTURED_TYPE", "ARRAY", "MAP", "MULTISET"}


def root(logical: Any) -> str:
    """The name of a type's root."""
    return str(logical.getTypeRoot().name())


def from_java(value: Any, logical: Any) -> object:
    """A Java value of this type, encoded as the Python value it is for PyFlink."""
    if value is None:
        return None
    name = root(logical)
    inner = list(logical.getChildren())
    if name == "ROW":
        cells = [from_java(value.getField(at), each) for at, each in enumerate(inner)]
        return {"row": cells, "names": None, "kind": "INSERT"}
    if name == "ARRAY":
        return {"list": [from_java(each, inner[0]) for each in value]}
    if name in ("MAP", "MULTISET"):
        pairs = [
            [from_java(key, inner[0]), from_java(value[key], inner[1]) if inner[1:] else value[key]]
            for key in value
        ]
        return {"dict": sorted(pairs, key=canonical)}
    if name == "TIMESTAMP_WITH_LOCAL_TIME_ZONE":
        return {"instant": [value.getEpochSecond(), value.getNano()]}
    if name == "INTERVAL_DAY_TIME":
        nanos = value.getNano()
        return encode(timedelta(seconds=value.getSeconds(), microseconds=nanos // 1000))
    if name == "INTERVAL_YEAR_MONTH":
        return {"months": value.toTotalMonths()}
    if name == "DATE":
        return {"date": value.toString()}
    if name == "TIME_WITHOUT_TIME_ZONE":
        return encode(time_of_day.fromisoformat(value.toString()))
    if name == "TIMESTAMP_WITHOUT_TIME_ZONE":
        return encode(datetime.fromisoformat(value.toString()[:26]))
    if name == "FLOAT":
        return encode(struct.unpack("f", struct.pack("f", value))[0])
    return encode(bytearray(value) if name.endswith("BINARY") else value)


def answer(env: Any, case: Case, folder: Path, mode: str, stdout: Path) -> dict[str, object]:
    """What Flink says to the last statement of the case, or where it refused."""
    *before, last = case.script(DATA, folder)
    when = "before"
    try:
        for statement in before:
            made = env.execute_sql(statement)
            if re.match(r"INSERT|EXECUTE", statement):
                made.wait()
        when = "plan"
        word = last.split()[0].upper()
        if case.show == "schema":
            schema = env.sql_query(last)._j_table.getResolvedSchema()
            found = [
                [each.getName(), each.getDataType().getLogicalType().asSummaryString()]
                for each in schema.getColumns()
            ]
            return {"columns": found, **explained(env, last, mode)}
        if word == "EXPLAIN":
            result = env.execute_sql(last)
            with result.collect() as given:
                return {"plan": plan(next(given)[0])}
        if word in ("INSERT", "EXECUTE"):
            start = stdout.stat().st_size
            result = env.execute_sql(last)
            when = "run"
            result.wait()
            with stdout.open("rb") as file:
                file.seek(start)
                return {"printed": file.read().decode("utf-8").splitlines()}
        result = env.execute_sql(last)
        when = "run"
        found = {"columns": columns(result), "rows": rows(result)}
        query = word in ("SELECT", "WITH", "VALUES") or word.startswith("(")
        return found | (explained(env, last, mode) if query else {})
    except Exception as error:  # the refusal is the fact to record
        if not flinks_own(error):
            raise
        return {"refused": refusal(error, when)}


def explained(env: Any, query: str, mode: str) -> dict[str, list[str]]:
    """The plan of a query with what each of its nodes emits; a batch emits rows only."""
    if mode == "batch":
        return {}
    with env.execute_sql(f"EXPLAIN CHANGELOG_MODE {query}").collect() as given:
        return {"plan": plan(next(given)[0])}


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
                started = time.monotonic()
                folder = scratch / area / case.name / mode
                folder.mkdir(parents=True)
                env = flink.environment(mode, case.settings)
                try:
                    given = answer(env, case, folder, mode, stdout)
                except Exception as error:  # PyFlink cannot read its own answer
                    sys.stderr.write(f"UNREADABLE {full} {mode}: {error}\n")
                    goldens.pop((case.name, mode), None)
                    continue
                goldens[case.name, mode] = {"case": case.name, "mode": mode, **given}
                refused = given.get("refused")
                said = f"refused: {refused}" if refused else "ok"
                took = time.monotonic() - started
                sys.stderr.write(f"{full} {mode} {took:.1f} s {said}\n")
        if goldens:
            write(area, goldens, chosen.into)
    flink.cluster.close()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
