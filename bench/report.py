"""``bench/RESULTS.md``, written from the raw results: ratios first."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from bench import cluster, layers
from bench.contenders import CASES, FEW_KEYS
from bench.names import short, title, words
from bench.results import ROUNDS, load
from bench.targets import FLINK_SQL, SQL, TARGETS, Both, Measured, Rounds, Target, ratio
from bench.throughput import Figure, figures
from bench.ysb import table as ysb
from bench.ysb.contenders import CATCHING_UP, LIVE

Result = dict[str, Any]

LAYERS_OF_EXCHANGE = ("source and chain", "encode", "decode")
"""What case ``exchange`` holds of the layers that are measured without Spark."""

INTRODUCTION = """\
# Results

<!-- Written by `python -m bench --report` from bench/results/*.json; do not edit. -->

`make bench` measures all of this again. Flink, Bytewax and Pathway run in environments of their
own, Spark's peers in that of Headrace, as they are the same Spark; all on the same records and the
same two cores. Outputs are counted and compared with those of a plain loop, and a wrong count is a
failure; only what Flink SQL gives out in the timed run is not counted: there a second statement is
checked. A rate is the slope between two sizes, each in a fresh process, so it holds no start; the
start is the rest of the process, from its imports to its end. Figures are medians of the rounds,
peers taking turns in each. A quotient is worked out in each round, where one command took both of
its figures; else from the medians.
"""


Ask = Callable[[Measured], Both]


def _of_a(contender: str) -> Ask:
    return lambda m: (m.rate("a"), m.rate("a", contender))


def _of(case: str, contender: str) -> Ask:
    return lambda m: (m.rate(case), m.rate(case, contender))


def _best_in(case: str, prefix: str) -> Ask:
    return lambda m: m.beside(prefix, case)


def _best_of_sql_in(case: str, prefix: str) -> Ask:
    return lambda m: (m.best(case, SQL), m.best(case, prefix))


def _from_kafka(measured: Measured) -> Both:
    own, peer = (
        measured.value("sql-kafka", name, "records_per_second") for name in (SQL, FLINK_SQL)
    )
    return own, peer


def _best_of(prefix: str) -> Ask:
    return lambda m: m.beside(prefix, "a", "tune")


IN_SHORT = (
    ("Headrace, streaming", _of_a("headrace")),
    ("Headrace, batch", _of_a("headrace-batch")),
    ("Headrace, local: one process, one core", _of_a("headrace-local")),
    ("PyFlink, its best settings", _best_of("pyflink")),
    ("PySpark's transformWithState, its best", _best_of("spark-state")),
    ("Bytewax, its best settings", _best_of("bytewax")),
    ("Flink SQL (no Python), state in RocksDB", _of_a("flink-sql-rocksdb")),
    ("Flink SQL (no Python), its best settings", _best_of("flink-sql")),
)
"""Who stands in the README's table; with each, Headrace's rate in the same run and theirs."""

WINDOWS_IN_SHORT = (
    ("tumbling: Headrace, two phases", _of("windows", "headrace")),
    ("tumbling: Headrace, one phase", _of("windows", "headrace-one-phase")),
    ("tumbling: Headrace, batch", _of("windows", "headrace-batch")),
    ("tumbling: Headrace, local: one process, one core", _of("windows", "headrace-local")),
    ("tumbling: PyFlink, the better of its modes", _best_in("windows", "pyflink")),
    ("tumbling: Bytewax, its best settings", _best_in("windows", "bytewax")),
    ("tumbling: Flink SQL (no Python), state in RocksDB", _of("windows", "flink-sql-rocksdb")),
    ("tumbling: Flink SQL (no Python), its best settings", _best_in("windows", "flink-sql")),
    ("tumbling: a loop of plain Python, one core", _of("windows", "plain-python")),
    ("whole windows: PyFlink, the better of its modes", _best_in("windows-process", "pyflink")),
    ("sliding: PyFlink, the better of its modes", _best_in("windows-sliding", "pyflink")),
    ("sessions: PyFlink, the better of its modes", _best_in("windows-sessions", "pyflink")),
    ("sessions: a loop of plain Python, one core", _of("windows-sessions", "plain-python")),
    ("CSV, sums by key: Headrace, batch", _of("csv", "headrace-batch")),
    ("CSV, sums by key: Pathway", _best_in("csv", "pathway")),
    ("CSV, sums by window: Pathway", _best_in("csv-windows", "pathway")),
)
"""The same for the windows and CSV jobs, in ``docs/benchmarks.md``."""

SQL_IN_SHORT = (
    ("GROUP BY, 10,000 keys: Flink SQL", _best_of_sql_in("sql-group-by", FLINK_SQL)),
    ("GROUP BY, 10,000 keys: Spark's streaming SQL", _best_of_sql_in("sql-group-by", "spark-sql")),
    ("GROUP BY, 1,000,000 keys: Flink SQL", _best_of_sql_in("sql-group-by-million", FLINK_SQL)),
    ("windows of 10 s by key: Flink SQL", _best_of_sql_in("sql-tumble", FLINK_SQL)),
    ("Kafka to Kafka, JSON, exactly once: Flink SQL", _from_kafka),
    ("filter of Parquet: Spark SQL, batch", _best_of_sql_in("sql-parquet-filter", "spark-sql")),
    ("a Python function, by row: PyFlink", _best_of_sql_in("sql-python-row", "pyflink-table")),
    ("a Python function, pandas: PyFlink", _best_of_sql_in("sql-python-pandas", "pyflink-table")),
)
"""The same for SQL, in the README."""

FAIRNESS = """\
## What each peer was given

- **Headrace**: its defaults on two cores; checkpoints in a folder, RocksDB as Spark has it. In one
  phase windows are not summed up before the exchange.
- **PyFlink**: two slots, interpreters of their own in process mode, state caches above the number
  of keys, bundles of 100,000 records that end after a second as well (in `tune` as the name says)
  and at each checkpoint, state on the JVM's heap, object reuse, every type declared; indexes come
  from a source in the JVM, and outputs are counted inside the operator's interpreter, so that none
  goes back. In thread mode its checkpoints fail while sessions are open; there, and nowhere else,
  the job may go on without them.
- **Flink SQL**: source, sum and sink (a black hole) in the JVM, state on its heap or in RocksDB, as
  the name says. The black hole cannot count, so nothing is counted in the timed run; a second
  statement, over the first 100,000 records (in windows 1,000,000), is read back and checked. With
  mini-batches it gives out fewer intermediate sums than (a) asks for. Windows are those of the
  table function `TUMBLE`, summed up before the exchange by each of the settings. Columns and
  watermarks are computed in the JVM, the time zone is UTC, which spares Flink a shift for each
  record.
- **SQL**: Flink and Headrace run the same statements (`bench/sql/statements.py`), in PyFlink's and
  Headrace's `TableEnvironment`: rows of `datagen` that count, computed columns, a black hole. Flink
  runs with mini-batches of 50,000 rows or 1 s and two phases, its state on the heap or in RocksDB;
  Headrace without mini-batches, where it gives each change of each row, and with them. Spark's own
  streams read `rate-micro-batch` and give out in `update` mode, windows in `append` mode. What is
  given out in the timed run is not counted; the sums of the results over the first records are.
- **Flink's CEP**: a program in Java, as PyFlink has none (`bench/peers/java`): two slots, state on
  the JVM's heap, object reuse, checkpoints every 10 s, tuples of three longs as events, its caches
  as they are by default. Source and count are in the JVM too.
- **Spark's transformWithState**: a source in the JVM; state is read and written once per key and
  micro-batch, whose size is in the name. Headrace's settings are the JVM's first compiler
  only, and no code made for queries.
- **Spark's mapInArrow**: text is read in the JVM; the same loop over the same functions.
- **Bytewax**: two processes (or threads), a snapshot every 10 s; records come from Python as here,
  their keys as text, as it wants them. In windows, `fold_window` without sorting; batches of the
  source hold 1,000 records, or as many as the name says. Its watermark is that of one key, and goes
  on with the wall clock, so records would be late by chance: the clock stands still, and one source
  feeds both workers, as two would not be at the same event time.
- **Pathway**: two threads, telemetry off, its own reader of CSV with types declared, the files as a
  closed table (`static`), which it ingests in few commits; results are counted by Pathway too. It
  keeps no state over a crash. Its windows have no bound on lateness, and nothing is ever dropped;
  `grouped` groups by key and time divided by 10 s instead, which is the same and costs it less.
- **PyFlink's interval join** is a `KeyedCoProcessFunction` written by hand, as PyFlink has none: a
  list for each side, types declared, and timers that clear what is too old, one for a key and 10 s.
  With a map by time and a timer for each record, as Flink's own join in Java, it was slower.
"""


def write(path: Path, plots: Path) -> Path:
    """Write the page from the results beside the plots; gives its path."""
    results = load(plots)
    measured = Measured(results)
    parts = [INTRODUCTION, *_targets(measured), FAIRNESS]
    for name, result in results.items():
        rated = name in CASES or name == CATCHING_UP
        parts += _rates(name, result) if rated else _values(name, result)
        if name == "layers":
            parts += _exchange(measured)
        if (plots / f"{name}.svg").exists():
            parts.append(f"![{name}]({plots.name}/{name}.svg)\n")
    parts += _machines(results)
    path.write_text("\n".join(parts))
    return path


def put_into_pages(root: Path, results: Path) -> None:
    """Put tables between their marks in the pages that show them."""
    measured = Measured(load(results))
    put(root / "docs/benchmarks.md", "targets", _targets(measured)[1])
    put(root / "docs/benchmarks.md", "latency", _measure(measured.rows("latency"))[0])
    both = measured.rows(CATCHING_UP) + measured.rows(LIVE)
    put(root / "docs/benchmarks.md", "ysb", ysb.table(both))
    put(
        root / "docs/growth.md",
        "cluster",
        table(["what", "figure", "where it comes from"], cluster.lines(measured)),
    )
    put(root / "docs/benchmarks.md", "windows", _in_short(measured, WINDOWS_IN_SHORT))
    put(root / "README.md", "rates", _in_short(measured, IN_SHORT))
    put(root / "README.md", "sql-rates", _in_short(measured, SQL_IN_SHORT, "Headrace's SQL"))
    _copy_plots(results, root / "docs")


def _copy_plots(results: Path, docs: Path) -> None:
    """Those that a page shows; they stand beside the results as well, as pages are built alone."""
    text = "".join(page.read_text() for page in docs.rglob("*.md"))
    (docs / "images").mkdir(exist_ok=True)
    for plot in results.glob("*.svg"):
        if f"images/{plot.name}" in text:
            shutil.copy(plot, docs / "images" / plot.name)


def put(page: Path, mark: str, lines: str) -> None:
    """Put lines between the marks of a name in a page, in place of what is there."""
    begin, end = f"<!-- {mark} -->", f"<!-- /{mark} -->"
    before, rest = page.read_text().split(begin)
    _, after = rest.split(end)
    page.write_text(f"{before}{begin}\n{lines}{end}{after}")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown; all columns but the first to the right."""
    lines = ["| " + " | ".join(head) + " |", "|---|" + "--:|" * (len(head) - 1)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _targets(measured: Measured) -> list[str]:
    rows = []
    for target in TARGETS:
        found = target.ask(measured)
        bound = f"{'at most' if target.most else 'at least'} {_number(target.bound)} {target.unit}"
        if found is None:
            rows.append([target.text, bound, "not measured", "", ""])
        else:
            figure = f"{_spread([*found.values.values()])} {target.unit}"
            rows.append([target.text, bound, figure, _said(target, found), str(found.least)])
    return ["## Targets\n", table(["what", "wanted", "measured", "", "rounds"], rows)]


def _said(target: Target, found: Rounds) -> str:
    if found.least < ROUNDS:
        return "too few rounds"
    return "met" if target.met(found.median) else "**missed**"


def _in_short(
    measured: Measured, lines: Iterable[tuple[str, Ask]], own_name: str = "Headrace streaming"
) -> str:
    """A job by everyone's best settings, each beside what Headrace did in that run."""
    rows = []
    for name, find in lines:
        own, rate = find(measured)
        to_it = ratio(own, rate)
        rows.append(
            [
                name,
                "not measured" if rate is None else f"{rate.median:,.0f}",
                "" if own is None else f"{own.median:,.0f}",
                "" if to_it is None else _number(to_it.median),
            ]
        )
    return table(["two cores", "records/s", f"{own_name}, same run", "times as fast"], rows)


def _number(value: float) -> str:
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _rates(name: str, result: Result) -> list[str]:
    found = figures(result["rows"])
    own = found.get("headrace") or _best_of_sql(found)
    rows = [_rate_row(figure, own, name) for figure in found.values()]
    head = ["contender", "Headrace to it", "records/s", "min to max", "start, s", "rounds"]
    parts = [
        f"## {name}: {title(name)}\n",
        f"{_job(name)}\n",
        table(head, rows),
        *_crossings(own, found.values(), name),
        *_processor(found.values(), name),
    ]
    failures = [f"- {f.contender}: `{_first(f.failure)}`" for f in found.values() if f.failure]
    return [*parts, "Failed:\n", "\n".join(failures) + "\n"] if failures else parts


def _best_of_sql(found: Mapping[str, Figure]) -> Figure | None:
    """The fastest of Headrace's settings for SQL on Spark."""
    own = [f for f in found.values() if f.contender.startswith(SQL) and f.rate]
    return max(own, key=lambda figure: figure.rate or 0, default=None)


def _crossings(own: Figure | None, found: Iterable[Figure], name: str) -> list[str]:
    """From how many records on Headrace is done before Flink and Spark, in the cases of SQL."""
    if own is None or not own.contender.startswith(SQL):
        return []
    others = [each for each in found if not each.contender.startswith(SQL)]
    rows = [[words(each.contender, name), _crossing(own, each)] for each in others if each.rate]
    return [table(["beside", f"{words(own.contender, name)} is done first"], rows)] if rows else []


def _crossing(own: Figure, other: Figure) -> str:
    """Where the lines of two figures cross: start and records, to the end of the process."""
    assert own.rate and other.rate and own.start is not None and other.start is not None
    later, faster = own.start - other.start, 1 / other.rate - 1 / own.rate
    if later <= 0 and faster >= 0:
        return "always"
    if later >= 0 and faster <= 0:
        return "never"
    where = f"{short(later / faster)} records"
    return f"from {where} on" if faster > 0 else f"up to {where}"


def _job(name: str) -> str:
    if name == CATCHING_UP:
        return "Ad events from Kafka, joined with campaigns, counted in windows, into Redis."
    case = CASES[name]
    return f"Job ({case.job}), {case.keys:,} keys, {case.distribution}."


def _processor(found: Iterable[Figure], case: str) -> list[str]:
    kinds = ("worker", "jvm", "driver")
    rows = [
        [words(f.contender, case), *(f"{f.processor[k]:.2f}" for k in kinds)]
        for f in found
        if f.processor
    ]
    head = ["processor time, us per record", "Python workers", "JVM", "driver"]
    return [table(head, rows)] if rows else []


def _rate_row(figure: Figure, own: Figure | None, case: str) -> list[str]:
    name = words(figure.contender, case)
    if figure.rate is None or figure.start is None:
        return [name, "", "failed", "", "", "0"]
    to_it = f"{own.rate / figure.rate:.2f}" if own is not None and own.rate else ""
    spread = f"{figure.rates[0]:,.0f} to {figure.rates[-1]:,.0f}"
    rate, start = f"{figure.rate:,.0f}", f"{figure.start:.1f}"
    return [name, to_it, rate, spread, start, str(len(figure.rates))]


def _first(text: str) -> str:
    lines = text.strip().splitlines()
    return (lines[0] if len(lines) == 1 else f"{lines[0]}: {lines[-1]}").replace("`", "'")


def _values(name: str, result: Result) -> list[str]:
    return [f"## {name}: {title(name)}\n", *_measure(result["rows"], name)]


def _measure(found: list[dict[str, Any]], name: str = "") -> list[str]:
    """A measure's table: one line per contender and point, medians over the rounds."""
    groups: dict[tuple[str, str], list[dict[str, float]]] = {}
    failures = []
    for row in found:
        if "failure" in row:
            at_point = f"{row['contender']} {row.get('point', '')}".strip()
            failures.append(f"- {at_point}: `{_first(row['failure'])}`")
        else:
            key = row["contender"], str(row.get("point", ""))
            groups.setdefault(key, []).append(row["values"])
    names = list(dict.fromkeys(n for values in groups.values() for v in values for n in v))
    rows = []
    for (contender, point), values in groups.items():
        cells = [_spread([v[n] for v in values if n in v]) for n in names]
        rows.append([words(contender, name), point, *cells, str(len(values))])
    at = ["at"] if any(point for _, point in groups) else []
    if not at:
        rows = [[name, *cells] for name, _, *cells in rows]
    head = ["contender", *at, *(n.replace("_", " ") for n in names), "rounds"]
    parts = [table(head, rows)]
    return [*parts, "Failed:\n", "\n".join(failures) + "\n"] if failures else parts


def _exchange(measured: Measured) -> list[str]:
    """What the exchange costs: case ``exchange`` without the layers that have figures."""
    used = figures(measured.rows("exchange"))
    all_of_it = used["headrace"].processor if "headrace" in used else {}
    keys = layers.contender(FEW_KEYS)
    apart = [measured.value("layers", keys, "us_per_record", at) for at in LAYERS_OF_EXCHANGE]
    sum_us = sum(layer.median for layer in apart if layer is not None)
    if not all_of_it or None in apart:
        return []
    whole = sum(all_of_it.values())
    return [
        f"The exchange: a record of case `exchange` takes {whole:.2f} us of processor time in all"
        f" processes, {sum_us:.2f} us of them for {', '.join(LAYERS_OF_EXCHANGE)} as above (10,000"
        f" keys). The other {whole - sum_us:.2f} us are Spark's way from task"
        " to task, its state store, the JVM, and a keyed function without a state.\n"
    ]


def _spread(values: list[float]) -> str:
    if not values:
        return ""
    middle = _number(median(values))
    if len(values) == 1:
        return middle
    return f"{middle} ({_number(min(values))} to {_number(max(values))})"


def _cores(machine: dict[str, Any]) -> str:
    cores, used = machine["cores"], machine.get("used", machine["cores"])
    return str(cores) if used == cores else f"{used} of {cores}"


def _module(experiment: str) -> str:
    return "bench.ysb" if experiment.startswith(CATCHING_UP) else "bench"


def _machines(results: dict[str, Result]) -> list[str]:
    rows = []
    for name, result in results.items():
        machine = result["machine"]
        rows.append(
            [
                name,
                result["date"],
                result["commit"],
                f"`python -m {_module(name)} {' '.join(result['arguments'])}`",
                f"{_cores(machine)} x {machine['processor']}, {machine['memory']}",
                f"Python {machine['python']}, {machine['java']}",
                " ".join(f"{load:.1f}" for load in machine["load"]),
            ]
        )
    head = ["experiment", "date", "commit", "command", "machine", "versions", "load after"]
    seeds = sorted({str(result["seed"]) for result in results.values()})
    versions = sorted(
        {
            f"{package} {version}"
            for result in results.values()
            for row in result["rows"]
            for package, version in row.get("versions", {}).items()
        }
    )
    return [
        "## How it was measured\n",
        table(head, rows),
        f"Seed {', '.join(seeds)}. Versions met: {', '.join(versions)}.\n",
    ]
