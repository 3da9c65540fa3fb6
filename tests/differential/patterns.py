"""Random patterns and events, as data that a program for Flink and one for Headrace both read.

``python -m tests.differential.patterns COUNT UNTIL`` prints so many cases, and so many with
``until`` of a group, a JSON object on each line; Flink's answers to them are in
``goldens_patterns.jsonl`` (see ``java/README.md``).
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from headrace.cep import AfterMatchSkipStrategy, Pattern, WithinType

Case = Mapping[str, Any]

_GAP = "PREVIOUS_AND_CURRENT"


@dataclass(frozen=True)
class Event:
    """An event of a case."""

    id: int
    name: str
    value: int


# From data to patterns.


def condition(data: Any) -> Callable[..., bool]:
    """Return a condition that is described as data, with a context only if it needs one."""

    def holds(data: Any, event: Event, context: Any) -> bool:
        kind, *given = data
        match kind:
            case "name":
                return event.name == given[0]
            case "lt":
                return event.value < given[0]
            case "ge":
                return event.value >= given[0]
            case "true":
                return True
            case "sum":
                taken = context.get_events_for_pattern(given[0])
                return event.value + sum(each.value for each in taken) < given[1]
            case "rising":
                taken = context.get_events_for_pattern(given[0])
                return not taken or event.value >= taken[-1].value
            case "time":
                return context.timestamp() % 20 < given[0]
            case "and":
                return all(holds(each, event, context) for each in given)
        raise ValueError(kind)

    if any(f'"{kind}"' in json.dumps(data) for kind in ("sum", "rising", "time")):
        return lambda event, context: holds(data, event, context)
    return lambda event: holds(data, event, None)


def over_columns(data: Any) -> Any:
    """Return the same condition as an expression over columns; a function if it needs a context."""
    from headrace.table.expressions import and_, col, lit

    kind, *given = data
    match kind:
        case "name":
            return col("name") == given[0]
        case "lt":
            return col("value") < given[0]
        case "ge":
            return col("value") >= given[0]
        case "true":
            return (col("id") > 0) | lit(True)
        case "and":
            parts = [over_columns(each) for each in given]
            if all(not callable(each) for each in parts):
                return parts[0] if len(parts) == 1 else and_(*parts)
    return condition(data)


def skip_strategy(data: Any) -> AfterMatchSkipStrategy | None:
    """Return a skip strategy that is described as data."""
    if data is None:
        return None
    kind, *given = data
    made = getattr(AfterMatchSkipStrategy, kind)(*given[:1])
    return made.throw_exception_on_miss() if len(given) > 1 else made


def build(
    stages: list[Any], skip: Any = None, condition: Callable[[Any], Any] = condition
) -> Pattern:
    """Return the pattern of a case; ``condition`` makes conditions of data."""
    pattern: Any = None
    for stage in stages:
        added = build(stage["group"], None, condition) if "group" in stage else stage["name"]
        if pattern is None:
            pattern = Pattern.begin(added, skip_strategy(skip))
        else:
            pattern = getattr(pattern, stage["how"])(added)
        for call, *given in stage["calls"]:
            match call:
                case "where" | "until" | "or_":
                    pattern = getattr(pattern, call)(condition(given[0]))
                case "within":
                    pattern = pattern.within(given[0], *(WithinType[each] for each in given[1:]))
                case _:
                    pattern = getattr(pattern, call)(*given)
    return pattern


# Random cases.


def random_case(number: int) -> Case:
    """Return a case; the number is its seed."""
    random = Random(number)
    names: list[str] = []
    count = random.choices([1, 2, 3, 4], [2, 4, 3, 1])[0]
    stages = _stages(random, count, names, groups=random.random() < 0.5)
    calls = stages[-1]["calls"]
    if stages[-1]["how"] == "not_followed_by":
        calls.append(["within", random.choice([20, 50])])
    if random.random() < 0.3:
        calls.append(["within", random.choice([30, 60])])
    has_gaps = _GAP in json.dumps(stages) or any(
        call[0] == "one_or_more" and len(call) > 1 for call in _calls(stages)
    )
    # Flink ends the time after an event only at a later event: there is one at the end. That also
    # decides when a match that was held back comes: no skip strategy there.
    skip = None if has_gaps else _skip(random, stages)
    case = {"case": number, "pattern": stages, "skip": skip, "timeouts": random.random() < 0.5}
    is_by_clock = random.random() < 0.15
    if is_by_clock:
        case["processing_time"] = True
    elif random.random() < 0.15:
        case["comparator"] = True
    case["events"] = _events(random, is_by_clock, has_gaps)
    return case


def _calls(stages: list[Any]) -> list[Any]:
    found = []
    for stage in stages:
        found += stage["calls"] + _calls(stage.get("group", []))
    return found


def _stages(
    random: Random,
    count: int,
    names: list[str],
    *,
    groups: bool = False,
    in_group: bool = False,
) -> list[Any]:
    stages: list[Any] = []
    was_optional = was_greedy = False
    for number in range(count):
        how = "begin"
        if number:
            ways = ["next", "followed_by", "followed_by_any", "not_next", "not_followed_by"]
            how = random.choices(ways, [3, 4, 2, 1, 1.5])[0]
        is_negative = how.startswith("not") and not was_optional
        if how.startswith("not") and was_optional:
            how = "followed_by"
        stage: dict[str, Any] = {"how": how, "calls": []}
        calls = stage["calls"]
        is_group = groups and not is_negative and random.random() < 0.2
        if is_group:
            stage["group"] = _stages(random, random.randint(1, 2), names, in_group=True)
        else:
            stage["name"] = f"s{len(names)}"
            names.append(stage["name"])
            if random.random() < 0.95:
                calls.append(["where", _condition(random, names)])
            if random.random() < 0.1:
                calls.append(["or_", _condition(random, names)])
        was_optional, was_greedy = (
            (False, False)
            if is_negative
            else _quantify(
                random, stage, names, was_greedy, may_be_empty=not in_group or number > 0
            )
        )
        if random.random() < 0.12:
            gap = [_GAP] if random.random() < 0.4 and how != "not_followed_by" else []
            calls.append(["within", random.choice([20, 50, 100]), *gap])
        stages.append(stage)
    return stages


def _quantify(
    random: Random,
    stage: dict[str, Any],
    names: list[str],
    was_greedy: bool,
    *,
    may_be_empty: bool,
) -> tuple[bool, bool]:
    """Say how often a stage takes events; return whether it is optional, and greedy."""
    calls = stage["calls"]
    choice = random.random()
    is_optional = is_greedy = loops = False
    if choice < 0.2:
        calls.append(["one_or_more"])
        loops = True
        if random.random() < 0.15:
            calls[-1].append(random.choice([10, 30]))
    elif choice < 0.3:
        calls.append(["times", random.randint(1, 3)])
    elif choice < 0.4:
        least = random.randint(0 if may_be_empty else 1, 2)
        calls.append(["times", least, least + random.randint(0 if least else 1, 2)])
        is_optional = least == 0
    elif choice < 0.48:
        calls.append(["times_or_more", random.randint(1, 2)])
        loops = True
    if choice < 0.48:
        if random.random() < 0.3:
            calls.append(["consecutive"])
        elif random.random() < 0.3:
            calls.append(["allow_combinations"])
        elif "group" not in stage and random.random() < 0.3:
            calls.append(["greedy"])
            is_greedy = True
    if loops and random.random() < 0.25:
        calls.append(["until", _condition(random, names)])
    if may_be_empty and not is_optional and not was_greedy and random.random() < 0.25:
        calls.append(["optional"])
        is_optional = True
    return is_optional, is_greedy


def _condition(random: Random, names: list[str]) -> list[Any]:
    choice = random.random()
    if choice < 0.6:
        return ["name", random.choice("abc")]
    if choice < 0.7:
        return ["lt", random.randint(1, 9)]
    if choice < 0.8:
        return ["ge", random.randint(1, 6)]
    if choice < 0.84:
        return ["true"]
    if choice < 0.9:
        return ["sum", random.choice(names), random.randint(5, 25)]
    if choice < 0.95:
        return ["rising", random.choice(names)]
    if choice < 0.97:
        return ["time", 10]
    return ["and", ["name", random.choice("abc")], ["ge", random.randint(1, 6)]]


def _skip(random: Random, stages: list[Any]) -> list[Any] | None:
    kind = random.choice([None, "no_skip", "skip_to_next", "skip_past_last_event", "first", "last"])
    if kind is None or kind.startswith(("no", "skip")):
        return None if kind is None else [kind]
    own = [each["name"] for each in stages if "name" in each and "not" not in each["how"]]
    if not own:
        return None
    return [f"skip_to_{kind}", random.choice(own), *["throw"] * (random.random() < 0.3)]


def _events(random: Random, is_by_clock: bool, has_gaps: bool) -> list[Any]:
    events: list[Any] = []
    now = watermark = 1
    for number in range(random.randint(4, 11)):
        now += random.choice([0, 1, 3, 5, 10, 15])
        event = {"id": number, "name": random.choice("abc"), "value": random.randint(0, 9)}
        if is_by_clock:
            if random.random() < 0.7:
                events.append({"clock": now})
            events.append(event)
            continue
        events.append({**event, "ts": max(1, now - random.choice([0, 0, 0, 4, 20]))})
        if random.random() < 0.3:
            watermark = max(watermark, now - random.choice([0, 2, 10]))
            events.append({"watermark": watermark})
    last = {"id": len(events), "name": "z", "value": 0}
    if is_by_clock:
        return [*events, {"clock": now + 200}, *[last] * has_gaps, {"clock": now + 400}]
    return [*events, *[{**last, "ts": now + 200}] * has_gaps, {"watermark": now + 400}]


ONCE_DIFFERENT = (2304, 7252)
"""The numbers of other cases that Headrace has answered in another way than Flink."""


# Cases with ``until`` of a group, of which every other one has a group in the group.

_NESTED = 100_000
"""Added to the number of a case."""


def until_cases(count: int) -> Iterator[Case]:
    """Yield so many cases."""
    numbers = (number for number in itertools.count(10_000) if _ends_a_group(random_case(number)))
    for place, number in enumerate(itertools.islice(numbers, count)):
        yield until_case(number + _NESTED if place % 2 else number)


def until_case(number: int) -> Case:
    """Return the case of a number."""
    if number < _NESTED:
        return random_case(number)
    case = {**random_case(number - _NESTED), "case": number}
    random = Random(number)
    for stage in case["pattern"]:
        if _is_ended(stage):
            _nest(random, stage["group"])
    return case


def _ends_a_group(case: Case) -> bool:
    return any(map(_is_ended, case["pattern"]))


def _is_ended(stage: Any) -> bool:
    return "group" in stage and any(call[0] == "until" for call in stage["calls"])


def _nest(random: Random, group: list[Any]) -> None:
    """Make a group of one stage of a group."""
    place = random.randrange(len(group))
    inner = group[place]
    if inner["how"].startswith("not"):
        return
    taken = [call for call in inner["calls"] if call[0] in ("where", "or_")]
    loop = ["one_or_more"]
    how_often: list[Any] = [[loop], [["times", 2]], [["times", 1, 2]], [["times_or_more", 1]]]
    how_often.append([loop, ["allow_combinations"]])
    if place:
        how_often += [[["optional"]], [loop, ["optional"]]]
    group[place] = {
        "how": inner["how"],
        "group": [{"how": "begin", "name": inner["name"], "calls": taken}],
        "calls": random.choice(how_often),
    }


if __name__ == "__main__":
    cases = map(random_case, (*range(int(sys.argv[1])), *ONCE_DIFFERENT))
    for case in (*cases, *until_cases(int(sys.argv[2]))):
        print(json.dumps(case, separators=(",", ":")))
