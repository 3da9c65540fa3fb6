"""The rows of Beam's capability matrix, answered for Headrace by the tests that show them.

``scripts/capabilities.py`` collects the marks and writes the page. A test names what it shows:

    @pytest.mark.beam("When/Timers", runners="local, batch, streaming")

The rows are those of the matrix of Apache Beam at commit d37ba377.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

RUNNERS = ("local", "batch", "streaming")

_SOURCES_ONLY = "It stands at the beginning of a program: no operator reads splits out of records."
_NO_SIDE_INPUT = "A source gets no other stream."
_CUT = "How far a split is read is decided between micro-batches, by its `SplitEnumerator`."
_NOT_WITHIN = "A reader cannot stop within what it was given."
_WHOLE = "What a micro-batch reads is cut into ranges for all tasks; then a range stays whole."
_CALLED = "`SplitEnumerator.committed`, and the committers of sinks."
_NOT_CALLED = (
    "Other functions have no such call; nothing tells a source that a micro-batch was its last."
)


@dataclass(frozen=True)
class Row:
    """A row of the matrix: ``here`` is what it is called in Headrace, ``limit`` what it lacks."""

    group: str
    name: str
    here: str = ""
    limit: str = ""

    @property
    def key(self) -> str:
        """What marks call it."""
        return f"{self.group}/{self.name}"


@dataclass(frozen=True)
class Mark:
    """One mark on one test: ``test`` is how the page names it."""

    key: str
    runners: tuple[str, ...]
    test: str


def _splittable(group: str) -> list[Row]:
    return [
        Row(group, "Base", "A user-defined `Source`: splits with positions.", _SOURCES_ONLY),
        Row(group, "Side Inputs", limit=_NO_SIDE_INPUT),
        Row(group, "SDF-initiated Checkpointing", _CUT, _NOT_WITHIN),
        Row(group, "Dynamic Splitting", limit=_WHOLE),
        Row(group, "Bundle Finalization", _CALLED, _NOT_CALLED),
    ]


ROWS = (
    Row("What", "ParDo", "`map`, `flat_map`, `filter`, `process`."),
    Row("What", "GroupByKey", "`key_by`, then windows with `apply` or `process`."),
    Row("What", "Flatten", "`union`."),
    Row(
        "What",
        "Combine",
        "`reduce`, `sum` and their like; `aggregate` of windows, in two phases where it can merge.",
    ),
    Row(
        "What",
        "Composite Transforms",
        "A Python function from streams to streams.",
        "A plan shows the operators in it, and not the function.",
    ),
    Row(
        "What",
        "Side Inputs",
        "Broadcast state: `connect(other.broadcast(...))`.",
        "A record sees what was broadcast before it; no window of the other stream is waited for.",
    ),
    Row("What", "Source API", "`headrace.connector.Source`, bounded or not."),
    Row("What", "Metrics", "Counters, meters, distributions, gauges; committed with their batch."),
    Row("What", "Stateful Processing", "Value, list, map, reducing, aggregating state by key."),
    *_splittable("Bounded SDF"),
    *_splittable("Unbounded SDF"),
    Row("Where", "Global windows", "`GlobalWindows`."),
    Row("Where", "Fixed windows", "`TumblingEventTimeWindows`, and of processing time."),
    Row("Where", "Sliding windows", "`SlidingEventTimeWindows`, and of processing time."),
    Row("Where", "Session windows", "`EventTimeSessionWindows`, with a fixed or a dynamic gap."),
    Row("Where", "Custom windows", "A user-defined `WindowAssigner`."),
    Row("Where", "Custom merging windows", "A user-defined `MergingWindowAssigner`."),
    Row("Where", "Timestamp control", "`WatermarkStrategy`, also with user-defined generators."),
    Row("When", "Configurable triggering", "`.trigger(...)`, also with a user-defined trigger."),
    Row("When", "Event-time triggers", "`EventTimeTrigger`, `ContinuousEventTimeTrigger`."),
    Row("When", "Processing-time triggers", "`ProcessingTimeTrigger` and the continuous one."),
    Row("When", "Count triggers", "`CountTrigger`."),
    Row(
        "When",
        "Composite triggers",
        "`PurgingTrigger` around another; a user-defined `Trigger` that calls others.",
        "For Beam's AfterAll, AfterEach and AfterFirst a program writes a class of its own.",
    ),
    Row("When", "Allowed lateness", "`.allowed_lateness(...)`, `.side_output_late_data(...)`."),
    Row("When", "Timers", "Of event time and of processing time, by key; they can be deleted."),
    Row("How", "Discarding", "`PurgingTrigger`."),
    Row("How", "Accumulating", "Every other trigger."),
    Row(
        "Misc",
        "Drain",
        limit="`headrace stop --drain` ends event time. A cancelled job keeps its open windows.",
    ),
    Row(
        "Misc",
        "Checkpoint",
        "Every micro-batch; a job goes on from the last one. Savepoints on command.",
        "Streams on Spark only.",
    ),
    Row("Misc", "Key-ordered delivery", "From each task; in a batch by timestamp."),
)

_INTRODUCTION = """\
# Beam's capability matrix

<!-- Written by scripts/capabilities.py from marked tests; do not edit. -->

Apache Beam publishes [a matrix][matrix] of what its runners can do: *what* is computed, *where*
in event time, *when* in processing time, and *how* refinements relate. These are its rows (at
commit d37ba377), with Headrace's answers. *Yes*: the tests that are named show it on every runner.
*Partially*: they show it, and a sentence says what is lacking. *No*: the sentence says why.
Where a row of [What works](capabilities.md) is named, its tests are meant.

[matrix]: https://beam.apache.org/documentation/runners/capability-matrix/
"""


def page(marks: Sequence[Mark]) -> str:
    """The page.

    Raises:
        ValueError: a mark names no row, or a row without tests or on some runners alone lacks the
            sentence that says why.
    """
    unknown = sorted({mark.key for mark in marks} - {row.key for row in ROWS})
    if unknown:
        raise ValueError(f"Beam's matrix has no row {', '.join(unknown)}")
    lines = [_line(["", "", "", "in Headrace", "shown by"]), "|---|---|---|---|---|"]
    for row in ROWS:
        lines.append(_row(row, [mark for mark in marks if mark.key == row.key]))
    answers = [line.split(" | ")[2] for line in lines[2:]]
    counts = ", ".join(f"{answers.count(word)} {word}" for word in ("yes", "partially", "no"))
    return _INTRODUCTION + f"\nOf {len(ROWS)} rows: {counts}.\n\n" + "\n".join(lines) + "\n"


def _row(row: Row, marks: Sequence[Mark]) -> str:
    shown = [runner for runner in RUNNERS if any(runner in mark.runners for mark in marks)]
    if not row.limit and len(shown) < len(RUNNERS):
        raise ValueError(f"{row.key} is shown on {shown} alone, and no sentence says why")
    answer = "no" if not shown else "partially" if row.limit else "yes"
    where = f"Tests: {' and '.join(shown)}." if 0 < len(shown) < len(RUNNERS) else ""
    tests = dict.fromkeys(mark.test for mark in marks)
    return _line(
        [
            row.group,
            row.name,
            answer,
            " ".join(filter(None, (row.here, row.limit, where))),
            "<br>".join(tests),
        ]
    )


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"
