"""The input of every benchmark, defined once: record i is (key, value, event time in ms).

Standard library only: this runs in the environment of each peer. The uniform key is a formula that
SQL can say too (``UNIFORM_SQL``), so that a peer whose source is in the JVM reads the same records.
"""

from __future__ import annotations

import json
import os
import random
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import accumulate, pairwise
from math import ceil
from pathlib import Path
from typing import Any

SEED = 20_261_121
BASE_MS = 1_700_000_000_000
MULTIPLIER = 2_654_435_761
# A prime, and not 2**32: the low bits of the key would else be those of the index, and with them
# those of the value.
MODULUS = 4_294_967_291
UNIFORM_SQL = f"MOD(MOD({{index}} * {MULTIPLIER}, {MODULUS}), {{keys}})"
VALUE_SQL = "MOD({index}, 1000)"
ZIPF_EXPONENT = 1.1
ZIPF_HEAD = 1_024
ZIPF_BITS = 18
TIMER_RECORDS_PER_KEY = 2
OUTPUT_EVERY = 100
JSON_FILES = 8

# Windows. The event time goes on by a ms with every ``rate_per_ms`` records, so that a key has ten
# records in ten seconds on average, and is put off by up to ``DISORDER_MS``, so that none is late.
DISORDER_MS = 5_000
DISORDER_MULTIPLIER = 2_246_822_519
TUMBLING_MS = 10_000
SLIDING_MS, SLIDE_MS = 600_000, 60_000
GAP_MS = 30_000
SESSION_BLOCKS, SESSION_TURN_MS = 4, 15_000
"""In sessions the keys are cut into so many blocks, which are active in turn, each for so long."""
TIME_SQL = (
    f"{BASE_MS} + CAST(({{index}} - MOD({{index}}, {{rate}})) / {{rate}} AS BIGINT)"
    f" + MOD(MOD({{index}} * {DISORDER_MULTIPLIER}, {MODULUS}), {DISORDER_MS})"
)
"""``rate`` is ``rate_per_ms(keys)``."""
INTERLEAVED_SQL = (
    "CASE WHEN {number} < {half} THEN 2 * {number} ELSE 2 * ({number} - {half}) + 1 END"
)
"""``interleaved`` in SQL; ``half`` is ``records // 2``."""
WITHIN_EVENTS = 20
"""In patterns: so many events a key has, on average, in the time that a match may take."""
CSV_FILES = 8
PARQUET_FILES, SYMBOLS = 8, 500
CSV_HEADER = "key,value,time"

Record = tuple[int, int, int]


class ZipfRecords:
    """Record i with skewed keys: key k comes in proportion to (k + 1) ** -1.1.

    The first keys are found in a table of cumulative weights; those behind by the inverse of the
    integral of x ** -1.1, which for each is its weight to a millionth. Travels as its
    parameters; the tables are made where it runs.
    """

    def __init__(self, keys: int) -> None:
        self._keys, slope = keys, ZIPF_EXPONENT - 1
        self._power = -1 / slope
        weights = accumulate((rank + 1) ** -ZIPF_EXPONENT for rank in range(min(keys, ZIPF_HEAD)))
        cumulative = list(weights)
        # From the middle between the table's last rank and the next to that behind the last one.
        first, last = ((rank + 0.5) ** -slope for rank in (len(cumulative), keys))
        scale = (cumulative[-1] + (first - last) / slope) / MODULUS
        self._ends = [ceil(weight / scale) for weight in cumulative]
        self._head = self._ends[-1]
        self._at_zero, self._step = first + cumulative[-1] * slope, scale * slope
        # The key of a range of numbers, or -1 where there are several: it spares most searches.
        edges = range(0, MODULUS + (1 << ZIPF_BITS), 1 << ZIPF_BITS)
        found = [self._key(min(edge, MODULUS - 1)) for edge in edges]
        self._keys_of = [a if a == b else -1 for a, b in pairwise(found)]

    def __reduce__(self) -> tuple[Any, ...]:
        return ZipfRecords, (self._keys,)

    def share_of_first(self) -> float:
        """The part of all records that the first key has."""
        return self._ends[0] / MODULUS

    def _key(self, number: int) -> int:
        if number < self._head:
            return bisect_right(self._ends, number)
        return int((self._at_zero - number * self._step) ** self._power - 0.5)

    def record(self, index: int) -> Record:
        """The record of an index."""
        number = index * MULTIPLIER % MODULUS
        key = self._keys_of[number >> ZIPF_BITS]
        if key < 0:
            key = self._key(number)
        return key, index % 1000, BASE_MS + index


def record_function(keys: int, distribution: str = "uniform") -> Callable[[int], Record]:
    """The function from a record's index to the record.

    ``each``: as many records as there are keys, from a multiple of that on, hold every key once.
    """
    if distribution == "zipf":
        return ZipfRecords(keys).record

    def uniform(index: int) -> Record:
        return index * MULTIPLIER % MODULUS % keys, index % 1000, BASE_MS + index

    def each(index: int) -> Record:
        # The multiplier is a prime: it has no factor in common with fewer keys than itself.
        return index * MULTIPLIER % keys, index % 1000, BASE_MS + index

    found = {"uniform": uniform, "each": each}.get(distribution)
    if found is None:
        raise ValueError(f"the distribution is {distribution!r}, not uniform, zipf or each")
    return found


def is_windowed(job: str) -> bool:
    """Whether a job's records are those of ``timed_record_function``."""
    return job.startswith(("w", "csv"))


def rate_per_ms(keys: int) -> int:
    """How many records come in a ms of event time, before their disorder."""
    return max(keys // 1000, 1)


def timed_record_function(job: str, keys: int) -> Callable[[Any], Any]:
    """The function from a record's index to the record, for the window and CSV jobs.

    It takes a numpy array of indexes as well, and then gives arrays. In sessions (``we``) a block
    of keys is active for 15 to 20 s of event time, disorder included, with 60 records for each of
    its keys on average, and silent for the next 40 s or more.
    """
    rate = rate_per_ms(keys)
    block, turn = max(keys // SESSION_BLOCKS, 1), rate * SESSION_TURN_MS

    def timed(index: Any) -> Any:
        time_ms = BASE_MS + index // rate + index * DISORDER_MULTIPLIER % MODULUS % DISORDER_MS
        return index * MULTIPLIER % MODULUS % keys, index % 1000, time_ms

    def in_turn(index: Any) -> Any:
        time_ms = BASE_MS + index // rate + index * DISORDER_MULTIPLIER % MODULUS % DISORDER_MS
        active = index // turn % SESSION_BLOCKS
        return active * block + index * MULTIPLIER % MODULUS % block, index % 1000, time_ms

    return in_turn if job == "we" else timed


def is_pattern(job: str) -> bool:
    """Whether a job looks for a pattern, in the records of ``event_function``."""
    return job.startswith("p")


def event_function(keys: int) -> Callable[[Any], Any]:
    """The function from an index, or a numpy array of them, to the record of a pattern's job.

    The key is that of (a). The value is no linear function of the index, as it is elsewhere: the
    small events and the large ones would then be of different keys.
    """

    def event(index: Any) -> Any:
        mixed = index * MULTIPLIER % MODULUS
        return mixed % keys, (mixed ^ mixed >> 15) % 1000, BASE_MS + index

    return event


def pattern_limits(job: str) -> tuple[int, int]:
    """Below which value an event is small, and from which on it is large.

    ``p1``: one per cent of all events is either, half of these small; ``p10``, ``p100``: so many.
    """
    each = int(job[1:]) * 5
    return each, 1000 - each


def within_ms(keys: int) -> int:
    """In which time a match must be complete."""
    return WITHIN_EVENTS * keys


def interleaved(number: int, half: int) -> int:
    """The index of a number, for a source whose two tasks read a half of the numbers each.

    So both are at the same event time, as they are elsewhere, and neither is late.
    """
    return 2 * number if number < half else 2 * (number - half) + 1


def stages(job: str) -> int:
    """How many keyed stages a job has: ``c`` and ``ct`` three, ``c1`` to ``c5`` as they say."""
    return {"a": 1, "c": 3, "ct": 3}.get(job) or int(job[1:])


def timer_interval_ms(keys: int) -> int:
    """The time in which a key sees two records, on average."""
    return TIMER_RECORDS_PER_KEY * keys


def rekey(key: int, keys: int) -> int:
    """The key for the next stage of job (c): a function of the key alone, so of no order."""
    return (key * 31 + 7) % keys


def json_lines(records: int) -> Iterator[str]:
    """Lines of job (d), about 105 bytes each."""
    draw = random.Random(SEED).randrange
    for number in range(records):
        yield (
            f'{{"id": {number}, "user": "user-{draw(100_000):05d}", "symbol": "S{draw(500):03d}",'
            f' "price": {draw(1_000, 100_000)}, "quantity": {draw(1, 1_001)},'
            f' "ts": {BASE_MS + number}}}\n'
        )


def decode(line: str) -> dict[str, Any]:
    """What job (d) makes of a line first."""
    order: dict[str, Any] = json.loads(line)
    return order


def wanted(order: dict[str, Any]) -> bool:
    """True for half of the orders."""
    return bool(order["quantity"] % 2 == 0)


def summary(order: dict[str, Any]) -> tuple[int, str, int]:
    """What job (d) gives out."""
    return order["id"], order["symbol"], order["price"] * order["quantity"]


def csv_lines(records: int, keys: int) -> Iterator[tuple[int, str]]:
    """Keys and lines of the CSV jobs, about 23 bytes each, without their header."""
    make = timed_record_function("csv", keys)
    for key, value, time_ms in map(make, range(records)):
        yield key, f"{key},{value},{time_ms}\n"


def json_folder(records: int, parent: Path) -> Path:
    """A folder with the lines in a few files of equal length, made on first use."""
    folder = parent / f"json-{records}-{SEED}"
    if folder.exists():
        return folder
    making, per_file = _folder_beside(folder), -(-records // JSON_FILES)
    lines = json_lines(records)
    for number in range(JSON_FILES):
        with (making / f"part-{number}.jsonl").open("w") as file:
            file.writelines(line for _, line in zip(range(per_file), lines, strict=False))
    making.rename(folder)
    return folder


def csv_folder(records: int, keys: int, parent: Path) -> Path:
    """The same for the CSV jobs; each file has the header, and the rows of an eighth of the keys.

    As the partitions of a topic they are at the same event time, but for a second or two.
    """
    folder = parent / f"csv-by-key-{records}-{keys}-{SEED}"
    if folder.exists():
        return folder
    making = _folder_beside(folder)
    with ExitStack() as stack:
        files = [
            stack.enter_context((making / f"part-{number}.csv").open("w"))
            for number in range(CSV_FILES)
        ]
        for file in files:
            file.write(CSV_HEADER + "\n")
        for key, line in csv_lines(records, keys):
            files[key % CSV_FILES].write(line)
    making.rename(folder)
    return folder


def parquet_folder(records: int, parent: Path) -> Path:
    """A folder with the orders of job (sf) in a few Parquet files, made on first use."""
    folder = parent / f"parquet-{records}-{SEED}"
    if folder.exists():
        return folder
    import pyarrow as pa
    import pyarrow.parquet as pq

    making, per_file = _folder_beside(folder), -(-records // PARQUET_FILES)
    for number in range(PARQUET_FILES):
        start = number * per_file
        columns = order_columns(start, min(start + per_file, records))
        pq.write_table(pa.table(columns), making / f"part-{number}.parquet")
    making.rename(folder)
    return folder


def order_columns(start: int, end: int) -> dict[str, Any]:
    """The orders of job (sf) as arrays, from an index to another; the symbol is a text."""
    import numpy as np

    index = np.arange(start, max(start, end), dtype=np.int64)
    mixed = index * MULTIPLIER % MODULUS
    symbols = np.array([f"S{number:03d}" for number in range(SYMBOLS)], object)
    return {
        "id": index,
        "symbol": symbols[mixed % SYMBOLS],
        "price": 1_000 + (mixed >> 3) % 99_000,
        "quantity": 1 + (mixed >> 7) % 1_000,
    }


def input_of(job: str, records: int, keys: int, parent: Path) -> Path | None:
    """The folder that a job reads, made on first use; None for one whose records are made up."""
    if job == "d":
        return json_folder(records, parent)
    if job == "sf":
        return parquet_folder(records, parent)
    return csv_folder(records, keys, parent) if job.startswith("csv") else None


def _folder_beside(folder: Path) -> Path:
    making = folder.parent / f".{folder.name}-{os.getpid()}"
    making.mkdir(parents=True)
    return making
