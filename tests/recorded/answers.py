"""Programs by a seed, run in several ways, and what they answer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from headrace.common.configuration import Configuration
from headrace.common.typeinfo import Types
from headrace.datastream import StreamExecutionEnvironment
from headrace.testing import PipelineResults, run_pipeline
from tests.pipelines.draws import Draws, Seeded
from tests.pipelines.generated import Built, Order, Program, drawn_program
from tests.pipelines.jumping_clock import Jumps, drawn_jumps
from tests.pipelines.running import SETTINGS, compare, in_small_pieces

from .canonical import digest_of, lines_of, text_of

PROGRAMS = 1_000
VARIANTS = ("heap", "pages", "cut", "batch")
"""In one go in dictionaries, and in pages; cut, with restarts; as a batch."""

FAILING = 25
"""One in so many programs has a function, a key or a type that fails."""

_MADE_UP = re.compile(r"-[0-9a-f]{12}\b")
"""The end of a made-up uid, which follows from the program's code."""


@dataclass(frozen=True)
class Seed:
    """What a seed stands for: a program, how each variant of it is run, and how it fails."""

    number: int
    program: Program
    how: dict[str, dict[str, Any]]
    fault: str | None = None

    @classmethod
    def of(cls, number: int) -> Seed:
        """The same for the same number."""
        draws = Seeded(number)
        program = drawn_program(draws)
        how = {variant: _how(draws, variant) for variant in VARIANTS}
        fault = draws.choice([*FAULTS]) if number % FAILING == FAILING - 1 else None
        return cls(number, program, how, fault)

    def text(self) -> str:
        """The program and its runs."""
        sources = [
            f"source of {dealt.splits} splits{' by key' if dealt.by_key else ''}: "
            + text_of(records)
            for records, dealt in zip(self.program.sources, self.program.dealt, strict=True)
        ]
        steps = [
            f"step {number}: {text_of(step)}" for number, step in enumerate(self.program.steps)
        ]
        runs = [f"{variant}: {text_of(how)}" for variant, how in self.how.items()]
        return "\n".join([f"seed {self.number}, fault: {self.fault}", *sources, *steps, *runs])


def _how(draws: Draws, variant: str) -> dict[str, Any]:
    spread: dict[str, Any] = {
        "key_groups": draws.integer(1, 5),
        "parallelism": draws.integer(1, 3),
        "combining": draws.choice([True, False]),
    }
    cuts = draws.several(lambda draws: draws.integer(1, 9), 1, 8)
    restarts = draws.choice([False, True, "savepoint"])
    clock = drawn_jumps(draws)
    if variant == "heap":
        return {"combining": spread["combining"]}
    if variant == "batch":
        return {"mode": "batch", **spread}
    if variant == "pages":
        return {"backends": "paged", **spread}
    backends = "heap" if restarts == "savepoint" else "paged"
    return {"cuts": cuts, "restarts": restarts, "backends": backends, "clock": clock, **spread}


def _raises(built: Built) -> Any:
    def refuse(value: Any) -> Any:
        raise ValueError("this record is refused")

    return built.flows[0].stream.map(refuse)


def _cannot_be_a_key(built: Built) -> Any:
    return built.flows[0].stream.key_by(lambda value: lambda: value).sum(1)


def _does_not_fit(built: Built) -> Any:
    return built.flows[0].stream.map(lambda value: str(value[1]), Types.LONG())


FAULTS: dict[str, Callable[[Built], Any]] = {
    "raises": _raises,
    "cannot be a key": _cannot_be_a_key,
    "does not fit": _does_not_fit,
}
"""A stream more, which fails at its first record."""


@dataclass(frozen=True)
class Answer:
    """What one run gave.

    ``exact``: all of it. ``promised``: without the order of records whose order no engine promises,
    and without the form in which one of several equal keys came.
    """

    exact: str
    promised: str

    def digests(self) -> tuple[str, str]:
        """Those of both texts, the promised one first."""
        return digest_of(self.promised), digest_of(self.exact)


def answer_of(seed: Seed, variant: str) -> Answer:
    """Run a program in one way; where it does not fail, its results are those of the model."""
    how = dict(seed.how[variant])
    how |= how.pop("clock", Jumps(())).how
    settings = {
        **SETTINGS,
        "headrace.combining.enabled": str(how.pop("combining")).lower(),
    }
    env = StreamExecutionEnvironment(Configuration.from_dict(settings))
    built = seed.program.build(env)
    streams = built.streams()
    with ExitStack() as stack:
        stack.enter_context(in_small_pieces())
        if seed.fault is None:
            results = run_pipeline(streams, **how)
            compare(built, results, **how)
            return _answer(built, results)
        try:
            run_pipeline({**streams, "failing": FAULTS[seed.fault](built)}, **how)
        except Exception as error:
            text = f"{type(error).__qualname__}: {str(error).splitlines()[0]}\n"
            return Answer(text, text)
    raise AssertionError(f"seed {seed.number}: the program {seed.fault!r} did not fail")


def _answer(built: Built, results: PipelineResults) -> Answer:
    counters: dict[str, Any] = {}
    for name, value in _as_recorded(results).items():
        plain = _MADE_UP.sub("", name)
        counters[plain] = counters[plain] + value if plain in counters else value
    of_counters = [f"counter {name}: {counters[name]}" for name in sorted(counters)]
    return answer(built, dict(results), of_counters)


_SINCE = (
    "accumulateBusyTimeMs",
    "currentInputWatermark",
    "numRecordsOut",
    "pendingBytes",
    "pendingRecords",
    "stateBytes",
    "stateEntries",
)


def _as_recorded(results: PipelineResults) -> dict[str, Any]:
    """The counters that there were when answers were recorded.

    The first operator of a vertex counted what came to it, no other operator did, and all sources
    had one counter. Operators that share a name have counters by their ids as well, if they count.
    """
    counters, operators = results.counters, results.batches[-1].total_operators
    heads = [
        each
        for each in operators
        if f"{each.operator_id}.currentInputWatermark" in counters
        or (
            f"{each.name}.currentInputWatermark" in counters
            and f"{each.operator_id}.numRecordsIn" not in counters
        )
    ]
    sharing = Counter(each.name for each in heads)
    names = {each.operator_id: each.name for each in operators}
    found: dict[str, Any] = {}
    for name, value in counters.items():
        scope, _, metric = name.rpartition(".")
        of_source = scope and metric in ("numRecordsIn", "numRecordsInErrors")
        alone = scope in names and sharing[names[scope]] < 2
        if metric not in _SINCE and not of_source and not alone:
            found[name] = value
    for each in heads:
        own = f"{each.name}.numRecordsIn"
        found[own] = found.get(own, 0) + each.records_in
        if sharing[each.name] > 1:
            found[f"{each.operator_id}.numRecordsIn"] = each.records_in
    return found


def answer(
    built: Built, results: dict[str, list[Any]], more: Sequence[str] = (), *, sort: bool = False
) -> Answer:
    """The texts of a run's results, with more lines. ``sort``: no order is promised."""
    ends = built.ends()
    exact, promised = [*more], [*more]
    for name in sorted(built.streams()):
        flow, records = ends.get(name), results.get(name, [])
        ordered = flow is not None and flow.order is not Order.NONE and not sort
        last = flow is not None and flow.last
        exact += [name, *lines_of(records, ordered=True, exact=True, last=False)]
        promised += [name, *lines_of(records, ordered=ordered, exact=False, last=last)]
    if built.by_chance:  # asynchronous calls end in any order, and change what comes after them
        exact = promised
    return Answer("\n".join(exact) + "\n", "\n".join(promised) + "\n")
