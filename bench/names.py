"""What contenders and jobs are called in words, in tables and in plots."""

from __future__ import annotations

from bench.ysb.contenders import CATCHING_UP, LIVE
from bench.ysb.contenders import CONTENDERS as YSB

HEADRACE, PLAIN = "headrace", ("plain-python", "client-alone", "confluent-kafka")

_CONTENDERS = {
    "headrace": "Headrace, stream on Spark",
    "headrace-batch": "Headrace, batch on Spark",
    "headrace-local": "Headrace, local: one process",
    "headrace-one-phase": "Headrace, stream on Spark, one phase",
    "headrace-columns": "Headrace, conditions over columns",
    "headrace-constant-rules": "Headrace, rules in the function",
    "headrace-cold": "Headrace, cold start",
    "headrace-warm": "Headrace, warm session",
    "headrace-ordered": "Headrace, local, ordered",
    "headrace-unordered": "Headrace, local, unordered",
    "headrace-one-partition": "Headrace, stream on Spark, one partition",
    "headrace-one-by-one": "Headrace, local, one by one",
    "pyflink-process": "PyFlink, process mode",
    "pyflink-thread": "PyFlink, thread mode",
    "pyflink-process-bundle-10k": "PyFlink, process mode, bundles of 10,000",
    "pyflink-process-bundle-100k-10s": "PyFlink, process mode, bundles of 100,000 or 10 s",
    "pyflink-process-loopback": "PyFlink, process mode, in one interpreter",
    "pyflink-default": "PyFlink, process mode, its defaults",
    "pyflink-quick": "PyFlink, process mode, short bundles",
    "flink-sql": "Flink SQL, state on the heap (no Python)",
    "flink-sql-minibatch": "Flink SQL, mini-batches (no Python)",
    "flink-sql-rocksdb": "Flink SQL, state in RocksDB (no Python)",
    "spark-state-100k": "PySpark transformWithState, batches of 100,000",
    "spark-state-500k": "PySpark transformWithState, batches of 500,000",
    "spark-state-2000k": "PySpark transformWithState, batches of 2,000,000",
    "spark-arrow": "PySpark mapInArrow",
    "spark-state": "Bare transformWithState query",
    "spark-state-light": "Bare transformWithState query, Headrace's settings",
    "spark-shape": "Bare query, source and sink in Python",
    "spark-shape-light": "Bare query, source and sink in Python, Headrace's settings",
    "bytewax": "Bytewax, two processes",
    "bytewax-threads": "Bytewax, two threads",
    "bytewax-flat-map-1k": "Bytewax, two processes, flat map",
    "bytewax-batch-5k": "Bytewax, two processes, batches of 5,000",
    "bytewax-batch-50k": "Bytewax, two processes, batches of 50,000",
    "bytewax-200k": "Bytewax, two processes, source batches of 200,000",
    "pathway": "Pathway, two threads",
    "pathway-grouped": "Pathway, two threads, grouped by number of the window",
    "headrace-exactly-once": "Headrace, exactly once",
    "headrace-at-least-once": "Headrace, at least once",
    "quix": "Quix Streams, two processes",
    "confluent-kafka": "A loop over confluent-kafka, two processes",
    "pyflink-10s": "PyFlink, checkpoints each 10 s",
    "pyflink-1s": "PyFlink, checkpoints each second",
    "pyflink-1s-quick": "PyFlink, checkpoints each second, short bundles",
    "flink-cep": "Flink's CEP, Java, state on the heap (no Python)",
    "headrace-sql": "Headrace's SQL, stream on Spark",
    "headrace-sql-minibatch": "Headrace's SQL, stream on Spark, mini-batches",
    "headrace-sql-batch": "Headrace's SQL, batch on Spark",
    "headrace-sql-local": "Headrace's SQL, local: one process",
    "flink-tables": "Flink SQL, checkpoints each 10 s",
    "flink-tables-minibatch": "Flink SQL, mini-batches, state on the heap",
    "flink-tables-rocksdb": "Flink SQL, mini-batches, state in RocksDB",
    "pyflink-table-process": "PyFlink's Table API, process mode",
    "pyflink-table-thread": "PyFlink's Table API, thread mode",
    "spark-sql": "Spark SQL, batch",
    "spark-sql-heap": "Spark's streaming SQL, batches of 1,000,000, state on the heap",
    "spark-sql-rocksdb": "Spark's streaming SQL, batches of 1,000,000, state in RocksDB",
    "headrace-heap": "Headrace, state on the heap",
    "headrace-pages": "Headrace, stored in pages",
    "plain-python": "Loop of plain Python, one core",
    "client-alone": "The client alone, without Headrace",
}

_OF_CASES = {
    ("broadcast", "headrace"): "Headrace, rules broadcast",
    ("windows-columns", "headrace"): "Headrace, stream on Spark, over columns",
    **{(case, each.name): each.words for case in (CATCHING_UP, LIVE) for each in YSB},
}
"""Where a case tells variants of Headrace apart by something else than how it runs."""

_TITLES = {
    "a": "Count and sum for each of 10,000 keys",
    "a-million": "Count and sum for each of 1,000,000 keys",
    "a-zipf": "Count and sum for each of 10,000 keys, skewed",
    "a-million-zipf": "Count and sum for each of 1,000,000 keys, skewed",
    "exchange": "An exchange by key, and a function that keeps nothing",
    "b": "A map for each of 10,000 keys, cleared by timers",
    "c": "Three keyed stages in a row",
    "c-timed": "Three keyed stages in a row, in event time",
    "d": "JSON lines decoded, filtered and mapped, no keys",
    "tune": "Count and sum for each of 10,000 keys, other settings of the peers",
    "windows": "Tumbling windows of 10 s: count and sum by key",
    "windows-process": "Tumbling windows of 10 s: a function of all records of a window",
    "windows-sliding": "Sliding windows of 10 min by 1 min: count and sum by key",
    "windows-sessions": "Sessions with a gap of 30 s: count and sum by key",
    "windows-million": "Tumbling windows of 10 s, 1,000,000 keys",
    "windows-columns": "Tumbling windows of 10 s over columns",
    "csv": "Sums by key from CSV files",
    "csv-windows": "Tumbling windows of 10 s from CSV files",
    "join": "Interval join of two streams, 5 s to both sides, 10,000 keys",
    "patterns-1": "A pattern of two stages, 1 % of the events relevant, 10,000 keys",
    "patterns-10": "A pattern of two stages, 10 % of the events relevant, 10,000 keys",
    "patterns-100": "A pattern of two stages, all events relevant, 10,000 keys",
    "patterns-million": "A pattern of two stages, 10 % of the events relevant, 1,000,000 keys",
    "patterns-memory": "100,000 open partial matches in the state",
    "broadcast": "1,000 rules, looked up by records of 10,000 keys",
    "lookups": "Lookups over HTTP that take 20 ms, up to 1,000 at once",
    "map-batches": "A scikit-learn model over batches: time to that of a plain loop",
    "avro": "Messages of Avro with 12 fields, beside fastavro's own loop",
    "latency": "Latency from record to output at 2,000 records a second",
    "trickle": "What a micro-batch of 100 records takes",
    "stages": "A micro-batch of 100 records, phase by phase",
    "doubling": "An input that doubles and halves again",
    "layers": "What a record costs in each layer",
    "kafka": "Kafka to Kafka: JSON decoded, filtered, mapped and encoded",
    "kafka-count": "Kafka to Kafka: count and sum for each of 10,000 keys, exactly once",
    "kafka-latency": "Kafka to Kafka, exactly once: latency to a committed read, 2,000 records/s",
    "start": "From the start to the first output",
    "memory": "Memory with 10,000,000 keys",
    "firing": "100,000 windows that end at once",
    "growth": "How the rate changes, Headrace as a stream",
    "sql-group-by": "SQL: count and sum for each of 10,000 keys",
    "sql-group-by-million": "SQL: count and sum for each of 1,000,000 keys",
    "sql-tumble": "SQL: count and sum by key in tumbling windows of 10 s",
    "sql-parquet-filter": "SQL: filter and projection of Parquet, LIKE and CASE",
    "sql-python-row": "SQL: a Python function, row by row",
    "sql-python-pandas": "SQL: a Python function over pandas",
    "sql-kafka": "SQL: JSON from Kafka to Kafka, filtered, exactly once",
    "sql-start": "SQL: from the start of the process to the first row",
    "sql-formats": "SQL: rows of JSON and CSV, decoded and encoded by one core",
    CATCHING_UP: "The Yahoo Streaming Benchmark, catching up",
    LIVE: "The Yahoo Streaming Benchmark, latency at half the rate",
    "batch-linear": "Time of a batch over the size of its input",
}


def words(contender: str, case: str = "") -> str:
    """A contender in words; its name where there are none."""
    return _OF_CASES.get((case, contender)) or _CONTENDERS.get(contender, contender)


def title(experiment: str) -> str:
    """What an experiment measures; its name where nothing is said of it."""
    return _TITLES.get(experiment, experiment)


def short(number: float) -> str:
    """A number in three digits or so: 829k, 4.8M, 12."""
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= 0.9995 * unit:
            shown = number / unit
            return f"{shown:.0f}{name}" if shown >= 99.5 else f"{shown:.3g}{name}"
    return f"{number:.3g}"
