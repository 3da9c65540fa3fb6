"""The pattern of a sequence of events, stage by stage."""

from __future__ import annotations

import warnings
from dataclasses import replace
from enum import Enum
from typing import Any, NoReturn, Self

from headrace.cep._advice import advice
from headrace.cep._checks import checked_automaton, names_of
from headrace.cep._conditions import to_condition
from headrace.cep._explaining import explain_pattern
from headrace.cep.skip_strategy import AfterMatchSkipStrategy
from headrace.common._arguments import require_instance
from headrace.common._unsupported import unsupported, unsupported_method
from headrace.common.time import Duration, TimeAmount, milliseconds_of
from headrace.datastream._build.call_site import call_site
from headrace.errors import MalformedPatternError
from headrace.operators.patterns.conditions import And, Condition, Or, Subtype, joined
from headrace.operators.patterns.stages import Contiguity, Follows, Stage, Times

__all__ = ["GroupPattern", "Pattern", "Quantifier", "WithinType"]

_SHOWN = "explain() shows it as text"

Quantifier = unsupported("headrace.cep.Quantifier", _SHOWN)


class WithinType(Enum):
    """Between which events of a match the time of ``within`` counts."""

    FIRST_AND_LAST = "first and last"
    PREVIOUS_AND_CURRENT = "previous and current"


class Pattern:
    """A pattern; its methods describe the last stage, or add one.

    ``Pattern.begin("small").where(...).followed_by("large").where(...).within(...)``. Methods that
    describe a stage change the pattern and return it, as in Flink. Those that add a stage return a
    new pattern, so several patterns may begin with the same stages.
    """

    def __init__(
        self, previous: Pattern | None, stage: Stage, skip: AfterMatchSkipStrategy
    ) -> None:
        self._previous = previous
        self._stage = stage
        self._skip = skip
        self._site = call_site()
        vars(self)["begin"] = self._refuse_begin

    def _refuse_begin(self, *arguments: Any) -> NoReturn:
        raise self._malformed(
            "begin() begins another pattern",
            "add a stage by next(), followed_by() or followed_by_any(); or call Pattern.begin()",
        )

    @staticmethod
    def begin(
        pattern: str | Pattern, after_match_skip_strategy: AfterMatchSkipStrategy | None = None
    ) -> Pattern:
        """Begin a pattern, with a stage of a name, or with a group.

        ``after_match_skip_strategy``: what becomes of other partial matches after a match; the
        default drops none.
        """
        skip = after_match_skip_strategy
        if skip is None:
            skip = AfterMatchSkipStrategy.no_skip()
        require_instance(AfterMatchSkipStrategy, skip)
        return _added(None, pattern, Follows.NEXT, skip)

    def next(self, pattern: str | Pattern) -> Pattern:
        """Add a stage or group whose event is the very next one."""
        return _added(self, pattern, Follows.NEXT, self._skip)

    def followed_by(self, pattern: str | Pattern) -> Pattern:
        """Add a stage or group; events that it does not take may come before its event."""
        return _added(self, pattern, Follows.FOLLOWED_BY, self._skip)

    def followed_by_any(self, pattern: str | Pattern) -> Pattern:
        """Add a stage or group; any events may come before its event: one match for each."""
        return _added(self, pattern, Follows.FOLLOWED_BY_ANY, self._skip)

    def not_next(self, name: str) -> Pattern:
        """Add a negative stage: the next event must not be one that it would take.

        Raises:
            MalformedPatternError: the stage before is optional.
        """
        return self._add_not(name, Follows.NOT_NEXT)

    def not_followed_by(self, name: str) -> Pattern:
        """Add a negative stage: no event that it would take may come before the next stage's event.

        At the end of a pattern it needs ``within``: no such event may come in that time.

        Raises:
            MalformedPatternError: the stage before is optional.
        """
        return self._add_not(name, Follows.NOT_FOLLOWED_BY)

    def _add_not(self, name: str, follows: Follows) -> Pattern:
        if isinstance(name, Pattern):
            raise self._malformed("a group cannot be given as a negative stage", None)
        if self._stage.is_optional:
            raise self._malformed(
                f"the negative stage {name!r} cannot come after {self._stage.name!r}, which is"
                " optional",
                "use two patterns, one with the optional stage and one without it",
            )
        return _added(self, name, follows, self._skip)

    # What describes the stage.

    def where(self, condition: Any) -> Self:
        """Take only events for which a function holds; several calls: all of them must hold.

        ``condition``: a function of the event, or of the event and a context, which has the events
        taken so far (``IterativeCondition.filter``); an ``IterativeCondition`` or
        ``SimpleCondition``; or an expression over columns, ``col("amount") > 500``, which is tried
        for a block of events at once. That needs a stream whose type is a ``Types.ROW_NAMED``, or
        a ``Types.TUPLE`` (columns ``f0``, ``f1``, …). NULL does not hold, as in SQL.
        """
        return self._and(to_condition(condition, "where", call_site()))

    def or_(self, condition: Any) -> Self:
        """Take also events for which another function holds."""
        added = to_condition(condition, "or_", call_site())
        return self._set(condition=joined(Or, self._stage.condition, added))

    def subtype(self, subtype_class: type) -> Self:
        """Take only instances of a class."""
        if not isinstance(subtype_class, type):
            raise self._malformed(f"subtype() takes a class, not {subtype_class!r:.60}", None)
        return self._and(Subtype(subtype_class))

    def until(self, until_condition: Any) -> Self:
        """End the loop at an event for which a function holds; the event is not taken.

        Raises:
            MalformedPatternError: the stage does not loop without limit, or has an ``until``.
        """
        stage = self._stage
        if stage.until is not None:
            raise self._malformed("it has an until() already", "combine the two conditions")
        if not stage.is_looping:
            raise self._malformed(
                "until() ends a loop, and the stage does not loop",
                "one_or_more() or times_or_more() before it",
            )
        return self._set(until=to_condition(until_condition, "until", call_site()))

    def _and(self, added: Condition) -> Self:
        return self._set(condition=joined(And, self._stage.condition, added))

    def optional(self) -> Self:
        """Let the stage take its events, or none."""
        self._check_not_negative("optional()")
        self._check_previous_not_greedy()
        if self._stage.is_optional:
            raise self._malformed("it is optional already", "remove one optional()")
        return self._set(is_optional=True)

    def one_or_more(self, window_time: TimeAmount | None = None) -> Self:
        """Take one or more events.

        ``window_time``: limits the time between the first event of the stage and the event before
        it. As in Flink, it does not limit the time of the stage's later events. ``within`` limits
        the whole match.
        """
        return self._loop("one_or_more()", 1, None, window_time)

    def times(
        self,
        from_: int,
        to: int | TimeAmount | None = None,
        window_time: TimeAmount | None = None,
    ) -> Self:
        """Take a number of events, or between two numbers of them (both inclusive).

        ``window_time``: limits the time between each event of the stage and the event before it. As
        in Flink, it does not hold before the last event of the stage. It may also be the second
        argument: ``times(3, Duration.of_seconds(5))``.
        """
        if to is not None and window_time is None and not isinstance(to, int):
            to, window_time = None, to
        least = self._number(from_, "times()")
        most = least if to is None else self._number(to, "times()")
        if to is None and least < 1:
            raise self._malformed(f"times({from_}) takes no event", "give 1 or more")
        if least < 0 or most < max(least, 1):
            raise self._malformed(
                f"times({from_}, {to}) takes no number of events",
                "give the smaller number first; the larger one must be 1 or more",
            )
        self._loop("times()", max(least, 1), most, window_time)
        return self._set(is_optional=True) if least == 0 else self

    def times_or_more(self, times: int, window_time: TimeAmount | None = None) -> Self:
        """Take at least a number of events.

        ``window_time``: limits the time between each event of that number and the event before it.
        As in Flink, it does not hold before the events after that number.
        """
        if self._number(times, "times_or_more()") < 1:
            raise self._malformed(f"times_or_more({times}) takes no event", "give 1 or more")
        return self._loop("times_or_more()", times, None, window_time)

    def _number(self, given: Any, call: str) -> int:
        if isinstance(given, bool) or not isinstance(given, int):
            raise self._malformed(f"{call} takes a number of events, not {given!r:.60}", None)
        return given

    def _loop(
        self, call: str, least: int, most: int | None, window_time: TimeAmount | None
    ) -> Self:
        self._check_not_negative(call)
        if self._stage.times is not None:
            raise self._malformed(f"{call} comes after another quantifier", "remove one of them")
        within_ms = None
        if window_time is not None:
            within_ms = milliseconds_of(window_time, "the time between events") or None
        return self._set(times=Times(least, most, within_ms))

    def greedy(self) -> Self:
        """Take as many events as possible before the next stage begins.

        Raises:
            MalformedPatternError: the stage takes one event, or it is a group.
        """
        self._check_not_negative("greedy()")
        if self._stage.group is not None:
            raise self._malformed("a group cannot be greedy", None)
        if self._stage.times is None:
            raise self._malformed("greedy() is for stages that take several events", None)
        if self._stage.times.contiguity is Contiguity.RELAXED_ANY:
            raise self._malformed("greedy() comes after allow_combinations()", "remove one of them")
        return self._set(is_greedy=True)

    def consecutive(self) -> Self:
        """Take events of the stage only if no other event lies between them."""
        return self._between("consecutive()", Contiguity.STRICT)

    def allow_combinations(self) -> Self:
        """Allow any events between the events of the stage, also events that it could take."""
        return self._between("allow_combinations()", Contiguity.RELAXED_ANY)

    def _between(self, call: str, contiguity: Contiguity) -> Self:
        times = self._stage.times
        if times is None:
            raise self._malformed(f"{call} is for stages that take several events", None)
        if times.contiguity is not Contiguity.RELAXED:
            raise self._malformed(
                f"{call} comes after consecutive() or allow_combinations()", "remove one of them"
            )
        return self._set(times=replace(times, contiguity=contiguity))

    def within(
        self, window_time: TimeAmount, within_type: WithinType = WithinType.FIRST_AND_LAST
    ) -> Self:
        """Limit the time of a match, exclusive; 0 or less: no limit.

        ``FIRST_AND_LAST`` limits the time from the first to the last event of the match. If several
        stages have it, the shortest time counts. ``PREVIOUS_AND_CURRENT`` limits the time between
        this stage's event and the event before it. Partial matches that take longer time out.
        """
        require_instance(WithinType, within_type)
        amount_ms = milliseconds_of(window_time, "the time of within()")
        limit_ms = amount_ms if amount_ms > 0 else None
        if within_type is WithinType.PREVIOUS_AND_CURRENT:
            return self._set(gap_ms=limit_ms)
        return self._set(within_ms=limit_ms)

    # Checks.

    def _set(self, **changes: Any) -> Self:
        self._stage = replace(self._stage, **changes)
        return self

    def _check_not_negative(self, call: str) -> None:
        if self._stage.follows.is_negative:
            raise self._malformed(f"{call} is not for an event that must not come", None)

    def _check_previous_not_greedy(self) -> None:
        if self._previous is not None and self._previous._stage.is_greedy:
            raise self._malformed("it cannot be optional after a greedy stage", None)

    def _malformed(self, message: str, hint: str | None) -> MalformedPatternError:
        name = "a group" if self._stage.group is not None else f"stage {self._stage.name!r}"
        return MalformedPatternError(
            f"{name}: {message}", where={"called": str(call_site())}, hint=hint
        )

    # What it is.

    def explain(self) -> str:
        """Return the pattern as text: stages, limits of time, states, what is kept, warnings.

        Raises:
            MalformedPatternError: the pattern is not valid.
        """
        stages, skip = self._stage_tuple(), self._skip._skip
        automaton = checked_automaton(stages, skip, self._site)
        found = advice(stages, skip, automaton)
        return explain_pattern(stages, skip, str(self._skip), automaton, found)

    def get_name(self) -> str:
        """Return the name of the last stage."""
        return self._stage.name

    def get_previous(self) -> Pattern | None:
        """Return the pattern up to the stage before; None at the first one."""
        return self._previous

    def get_after_match_skip_strategy(self) -> AfterMatchSkipStrategy:
        """Return the skip strategy that was given to ``begin``."""
        return self._skip

    def get_window_size(
        self, within_type: WithinType = WithinType.FIRST_AND_LAST
    ) -> Duration | None:
        """Return the time that ``within`` gave to the last stage; None: there is no limit."""
        is_gap = require_instance(WithinType, within_type) is WithinType.PREVIOUS_AND_CURRENT
        limit_ms = self._stage.gap_ms if is_gap else self._stage.within_ms
        return None if limit_ms is None else Duration.of_millis(limit_ms)

    get_condition = unsupported_method(_SHOWN)
    get_until_condition = unsupported_method(_SHOWN)
    get_quantifier = unsupported_method(_SHOWN)
    get_times = unsupported_method(_SHOWN)

    def __repr__(self) -> str:
        return f"<pattern {names_of(self._stage_tuple())}, {self._skip}>"

    def _stage_tuple(self) -> tuple[Stage, ...]:
        found: list[Stage] = []
        pattern: Pattern | None = self
        while pattern is not None:
            found.append(pattern._stage)
            pattern = pattern._previous
        return tuple(found[::-1])

    def _stages(self) -> tuple[Stage, ...]:
        """Return the stages of a valid pattern.

        Raises:
            MalformedPatternError: the pattern is not valid.
        """
        stages = self._stage_tuple()
        checked_automaton(stages, self._skip._skip, self._site)
        return stages

    def _warn(self, stacklevel: int) -> None:
        """Warn of what is probably not meant; the pattern is valid."""
        for each in self._advice():
            warnings.warn(
                f"pattern {names_of(self._stage_tuple())}, built at {self._site}: {each}",
                stacklevel=stacklevel + 1,
            )

    def _advice(self) -> list[str]:
        """Return what of the pattern, which is valid, is probably not meant."""
        stages, skip = self._stage_tuple(), self._skip._skip
        return advice(stages, skip, checked_automaton(stages, skip, self._site))


class GroupPattern(Pattern):
    """A stage that is a pattern itself, which is repeated as a whole."""

    def __init__(
        self,
        previous: Pattern | None,
        stage: Stage,
        skip: AfterMatchSkipStrategy,
        raw_pattern: Pattern,
    ) -> None:
        super().__init__(previous, stage, skip)
        self._raw_pattern = raw_pattern

    def get_raw_pattern(self) -> Pattern:
        """Return the pattern that is the group."""
        return self._raw_pattern

    def where(self, condition: Any) -> Self:
        """Refuse: the stages of the group have conditions."""
        raise self._malformed("a group has no condition of its own", "give it to its stages")

    def or_(self, condition: Any) -> Self:
        """Refuse, like ``where``."""
        raise self._malformed("a group has no condition of its own", "give it to its stages")

    def subtype(self, subtype_class: type) -> Self:
        """Refuse, like ``where``."""
        raise self._malformed("a group has no condition of its own", "give it to its stages")


def _added(
    previous: Pattern | None, added: str | Pattern, follows: Follows, skip: AfterMatchSkipStrategy
) -> Pattern:
    if isinstance(added, Pattern):
        group = Stage("GroupPattern", follows, group=added._stage_tuple())
        return GroupPattern(previous, group, skip, added)
    where = {"called": str(call_site())}
    if not isinstance(added, str):
        raise MalformedPatternError(
            f"a stage has a name, or is a Pattern, not {added!r:.60}", where=where
        )
    if ":" in added:
        raise MalformedPatternError(f"the name {added!r} of a stage has a colon", where=where)
    return Pattern(previous, Stage(added, follows), skip)
