"""Reads the stages of a pattern that is data: they become calls of ``Pattern``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, NoReturn

from headrace.cep._checks import MAX_DEPTH
from headrace.cep.pattern import Pattern, WithinType
from headrace.cep.skip_strategy import AfterMatchSkipStrategy
from headrace.errors import MalformedPatternError
from headrace.operators.patterns.conditions import And, Condition, Not, Or
from headrace.operators.patterns.named import NamedCall
from headrace.runtime.user_function import UserFunction

MAX_REPETITIONS = 1_000
"""How many events the stages of a pattern may ask for in all: each becomes a state."""

_FOLLOWS = ("next", "followed_by", "followed_by_any", "not_next", "not_followed_by")
_SKIPS = ("no_skip", "skip_to_next", "skip_past_last_event")
_SKIPS_TO = ("skip_to_first", "skip_to_last")
_QUANTIFIERS = ("one_or_more", "times", "times_or_more")
_BETWEEN = ("consecutive", "allow_combinations")

_STAGE_KEYS = (
    *("name", "group", "follows", "where", "until", "within_ms", "gap_ms", "optional", "greedy"),
    *_QUANTIFIERS,
    *_BETWEEN,
    "window_ms",
)


@dataclass(frozen=True)
class RegisteredCondition:
    """A condition of a registry.

    Fields:
        context: the name of the parameter that gets the context; None: there is none.
        required, optional: the names of its values; ``takes_any``: whether any others may be given.
        types: what values must be, by name.
        reserved: the names of the other parameters.
    """

    name: str
    function: UserFunction
    context: str | None
    required: tuple[str, ...]
    optional: tuple[str, ...]
    takes_any: bool
    types: Mapping[str, tuple[type, ...]] = field(default_factory=dict)
    reserved: tuple[str, ...] = ()


class StageReader:
    """Reads one pattern; ``where`` says for errors which, and then which stage."""

    def __init__(self, where: str, conditions: Mapping[str, RegisteredCondition]) -> None:
        self._pattern, self._where, self._conditions = where, where, conditions

    def named(self, error: MalformedPatternError) -> MalformedPatternError:
        """Return an error that names the pattern."""
        if error.message.startswith(self._pattern):
            return error
        between = ", " if error.message.startswith("stage ") else ": "
        message = f"{self._pattern}{between}{error.message}"
        return MalformedPatternError(message, hint=error.hint)

    def _reject(self, message: str, hint: str | None = None) -> NoReturn:
        raise MalformedPatternError(f"{self._where}: {message}", hint=hint)

    def skip(self, given: Any) -> AfterMatchSkipStrategy:
        """Return a skip strategy; None: the default."""
        if given is None:
            return AfterMatchSkipStrategy.no_skip()
        if isinstance(given, str) and given in _SKIPS:
            made: AfterMatchSkipStrategy = getattr(AfterMatchSkipStrategy, given)()
            return made
        if isinstance(given, dict) and len(given) == 1:
            ((kind, stage),) = given.items()
            if kind in _SKIPS_TO and isinstance(stage, str):
                made = getattr(AfterMatchSkipStrategy, kind)(stage)
                return made
        self._reject(
            f"'skip' is {given!r:.60}",
            hint=f"one of {', '.join(_SKIPS)}; or {{'skip_to_first': <the name of a stage>}},"
            " or skip_to_last",
        )

    def pattern(self, stages: Any, skip: AfterMatchSkipStrategy | None = None) -> Pattern:
        """Return the pattern of stages, or of those of a group."""
        if not isinstance(stages, list) or not stages:
            self._reject(f"'stages' is a list of one or more stages, not {stages!r:.60}")
        outer, pattern = self._where, None
        for number, stage in enumerate(stages, 1):
            self._where = f"{outer}, stage {number}"
            if not isinstance(stage, dict):
                self._reject(f"a stage is an object, not {stage!r:.60}")
            name = stage.get("name")
            if isinstance(name, str):
                self._where = f"{outer}, stage {name!r}"
            check_keys(stage, _STAGE_KEYS, self._where)
            pattern = self._described(self._added(pattern, stage, skip), stage)
        self._where = outer
        assert pattern is not None
        return pattern

    def _added(
        self, before: Pattern | None, stage: dict[str, Any], skip: AfterMatchSkipStrategy | None
    ) -> Pattern:
        """Return a pattern with a stage added that takes any event once."""
        if ("name" in stage) == ("group" in stage):
            self._reject("a stage has either a name or a group of stages")
        added: Any = stage.get("name")
        if "group" in stage:
            added = self.pattern(stage["group"])
        elif not isinstance(added, str):
            self._reject(f"'name' is a text, not {added!r:.60}")
        follows = stage.get("follows")
        if before is None:
            if follows is not None:
                self._reject("the first stage follows none", hint="leave out 'follows'")
            return Pattern.begin(added, skip)
        follows = "followed_by" if follows is None else follows
        if follows not in _FOLLOWS:
            self._reject(f"'follows' is {follows!r:.60}", hint=f"one of {', '.join(_FOLLOWS)}")
        if follows.startswith("not_") and "group" in stage:
            self._reject("a group cannot be what must not come", hint="give it a single stage")
        made: Pattern = getattr(before, follows)(added)
        return made

    def _described(self, pattern: Pattern, stage: dict[str, Any]) -> Pattern:
        if "where" in stage:
            pattern.where(self._condition(stage["where"]))
        self._quantify(pattern, stage)
        for flag in (*_BETWEEN, "greedy", "optional"):
            if self._flag(stage, flag):
                getattr(pattern, flag)()
        if "until" in stage:
            pattern.until(self._condition(stage["until"]))
        if "within_ms" in stage:
            pattern.within(self._number(stage, "within_ms"))
        if "gap_ms" in stage:
            pattern.within(self._number(stage, "gap_ms"), WithinType.PREVIOUS_AND_CURRENT)
        return pattern

    def _quantify(self, pattern: Pattern, stage: dict[str, Any]) -> None:
        given = [each for each in _QUANTIFIERS if stage.get(each, False) is not False]
        window = {}
        if "window_ms" in stage:
            if not given:
                self._reject("'window_ms' is for a stage that takes several events")
            window["window_time"] = self._number(stage, "window_ms")
        if len(given) > 1:
            self._reject(f"{' and '.join(map(repr, given))} are given", hint="give one of them")
        for each in given:
            if each == "one_or_more":
                self._flag(stage, each)
                pattern.one_or_more(**window)
            elif each == "times" and isinstance(stage[each], list):
                if len(stage[each]) != 2:
                    self._reject(f"'times' is {stage[each]!r:.60}", hint="[from, to]")
                least, most = (self._number({each: one}, each, 0) for one in stage[each])
                pattern.times(least, most, **window)
            else:
                getattr(pattern, each)(self._number(stage, each), **window)

    def _flag(self, stage: dict[str, Any], key: str) -> bool:
        value = stage.get(key, False)
        if not isinstance(value, bool):
            self._reject(f"{key!r} is {value!r:.60}, and not true or false")
        return value

    def _number(self, stage: dict[str, Any], key: str, least: int = 1) -> int:
        value = stage[key]
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            self._reject(f"{key!r} is {value!r:.60}, and not a whole number of {least} or more")
        return value

    # Conditions.

    def _condition(self, data: Any) -> Condition:
        if isinstance(data, dict) and len(data) == 1:
            ((word, given),) = data.items()
            if word == "not":
                return Not(self._condition(given))
            if word in ("and", "or") and isinstance(given, list) and given:
                parts = tuple(map(self._condition, given))
                if len(parts) == 1:
                    return parts[0]
                return And(parts) if word == "and" else Or(parts)
        if not isinstance(data, dict) or not isinstance(data.get("condition"), str):
            self._reject(
                f"{data!r:.80} is no condition",
                hint="{'condition': <name>, 'values': {...}}; or {'and': [...]}, {'or': [...]} or"
                " {'not': ...} of conditions",
            )
        name, values = data["condition"], data.get("values", {})
        registered = self._conditions.get(name)
        if registered is None:
            self._reject(
                f"there is no condition {name!r}",
                hint=_likely(name, self._conditions, "the registry has"),
            )
        outer, self._where = self._where, f"{self._where}, condition {name!r}"
        check_keys(data, ("condition", "values"), self._where)
        self._check_values(registered, values)
        self._where = outer
        return NamedCall(name, registered.function, values, registered.context)

    def _check_values(self, registered: RegisteredCondition, values: Any) -> None:
        if not isinstance(values, dict):
            self._reject(f"'values' is an object of values by name, not {values!r:.60}")
        missing = [each for each in registered.required if each not in values]
        if missing:
            self._reject(f"it needs {', '.join(map(repr, missing))}")
        known = (*registered.required, *registered.optional)
        for name, value in values.items():
            is_free = registered.takes_any and name not in registered.reserved
            if name not in known and not is_free:
                self._reject(f"it has no value {name!r}", hint=_likely(name, known, "it has"))
            expected = registered.types.get(name)
            if expected is not None and not _is_of(value, expected):
                self._reject(f"{name!r} is {value!r:.60}, and not {_type_names(expected)}")


def _is_of(value: Any, types: tuple[type, ...]) -> bool:
    if isinstance(value, bool):
        return bool in types
    return isinstance(value, types) or (isinstance(value, int) and float in types)


def _type_names(types: tuple[type, ...]) -> str:
    return " or ".join("None" if each is type(None) else each.__name__ for each in types)


def check_keys(data: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for key in data:
        if key not in known:
            raise MalformedPatternError(
                f"{where}: there is no {key!r}", hint=_likely(key, known, "there are")
            )


def _likely(given: str, known: Iterable[str], otherwise: str) -> str:
    names = [*known]
    close = get_close_matches(given, names, 1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"{otherwise} {', '.join(map(repr, names)) or 'none'}"


def check_size(data: dict[str, Any]) -> None:
    """Refuse a pattern whose automaton or conditions would be too large."""
    if _is_deeper(data.get("stages"), MAX_DEPTH):
        raise MalformedPatternError(
            f"pattern {data['id']!r} has lists and objects in one another more than {MAX_DEPTH}"
            " deep"
        )
    count = sum(_repetitions(data.get("stages")))
    if count > MAX_REPETITIONS:
        raise MalformedPatternError(
            f"pattern {data['id']!r} asks for {count:,} events in all, more than"
            f" {MAX_REPETITIONS:,}"
        )


def _is_deeper(data: Any, limit: int) -> bool:
    level = [data]
    for _ in range(limit + 1):
        level = [
            inner
            for each in level
            if isinstance(each, list | dict)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
    return bool(level)


def _repetitions(stages: Any) -> Iterator[int]:
    """Yield how many events each stage asks for; what is not valid is found later."""
    for stage in stages if isinstance(stages, list) else ():
        if not isinstance(stage, dict):
            continue
        inner = sum(_repetitions(stage["group"])) if "group" in stage else 1
        times = stage.get("times", stage.get("times_or_more", 1))
        numbers = [each for each in (times if isinstance(times, list) else [times])]
        most = max((each for each in numbers if isinstance(each, int)), default=1)
        # A group that loops is compiled once more, with the groups in it: nested loops double.
        loops = "group" in stage and bool({"one_or_more", "times_or_more"} & stage.keys())
        yield inner * (max(int(most), 1) + loops)
