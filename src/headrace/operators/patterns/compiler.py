"""Makes the automaton of a pattern, stage by stage from the last to the first.

The construction is the one of Flink's CEP library, whose behaviour users know: the same patterns
give the same matches, in the same order. A stage becomes one state, or one for each repetition. A
negative stage becomes a stop state, to which the states before it lead while it may not come.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from headrace.errors import MalformedPatternError
from headrace.operators.patterns.automaton import Action, Automaton, Role, State, Transition
from headrace.operators.patterns.conditions import ALWAYS, And, Condition, Not, both
from headrace.operators.patterns.size import check_states, check_ways
from headrace.operators.patterns.stages import Contiguity, Follows, Stage

START = "start"


@dataclass
class _Sequence:
    """A sequence of stages that is being compiled, and the group that it is the content of."""

    stages: Sequence[Stage]
    group: Stage | None = None
    at: int = 0
    is_repetition: bool = False
    """Whether the group's first stage follows the group itself, which is repeated."""

    after: Stage | None = None
    """The stage after the group."""

    repeats: bool = False
    """Whether the states that are made are those of a repetition of the current stage."""

    @property
    def stage(self) -> Stage:
        return self.stages[self.at]

    @property
    def following(self) -> Stage | None:
        """The stage after this one, in this sequence or after the group; None after the last."""
        return self.after if self.is_last else self.stages[self.at + 1]

    @property
    def is_last(self) -> bool:
        return self.at + 1 == len(self.stages)

    @property
    def is_head_of_group(self) -> bool:
        return self.group is not None and self.at == 0


@dataclass
class _Compiler:
    states: dict[str, State] = field(default_factory=dict)
    gaps_ms: dict[str, int] = field(default_factory=dict)
    within_ms: int | None = None
    stops: dict[str, State] = field(default_factory=dict)
    named: dict[str, int] = field(default_factory=dict)
    """By the name of a stage: the number of its last state."""

    stop_count: int = 0
    at_until: dict[str, State] = field(default_factory=dict)
    """By the name of a state after a greedy loop: its copy that an ``until`` leads to."""

    def sequence(self, seq: _Sequence, sink: State) -> State:
        """Return the first state of a sequence that goes on to ``sink``."""
        seq.at = len(seq.stages) - 1
        while True:
            stage = seq.stage
            # Flink's rule: the last stage of a group is left out.
            if stage.within_ms is not None and (seq.group is None or not seq.is_last):
                self.within_ms = min(stage.within_ms, self.within_ms or stage.within_ms)
            if seq.at == 0:
                return self.stage(seq, sink)
            if stage.follows is Follows.NOT_FOLLOWED_BY:
                # Elsewhere it is a condition of the states before it (``add_stops``).
                if sink.role is Role.FINAL and (self.within_ms or stage.gap_ms):
                    sink = self.pending(seq)
            elif stage.follows is Follows.NOT_NEXT:
                sink = self.not_next(seq, sink)
            else:
                sink = self.stage(seq, sink)
            seq.at -= 1

    def pending(self, seq: _Sequence) -> State:
        """Return the state of a match that is complete if an event does not come in time."""
        state = self.new_state(seq, Role.PENDING)
        forbidden = self.takes(seq, seq.stage)
        state.add(Action.PROCEED, self.stop(seq.stage.name, forbidden), forbidden)
        state.add(Action.IGNORE, state, Not(forbidden))
        return state

    def not_next(self, seq: _Sequence, sink: State) -> State:
        state = self.new_state(seq)
        forbidden = self.takes(seq, seq.stage)
        stop = self.stop(seq.stage.name, forbidden)
        # At the end of a pattern, the next event shows that the forbidden one did not come.
        action = Action.IGNORE if sink.role is Role.FINAL else Action.PROCEED
        state.add(action, sink, Not(forbidden))
        state.add(Action.PROCEED, stop, forbidden)
        return state

    def stage(self, seq: _Sequence, sink: State) -> State:
        """Return the first state of a stage that takes events."""
        stage = seq.stage
        if stage.is_looping:
            assert stage.times is not None
            # Once the loop has begun, what must not come before it may come.
            seq.repeats = True
            looping = self.loop(seq, self.without_earlier_stops(seq, sink))
            seq.repeats = False
            first = self.times(seq, looping, sink, stage.times.least, stage.times.least)
        elif stage.times is not None:
            assert stage.times.most is not None
            first = self.times(seq, sink, sink, stage.times.least, stage.times.most)
        else:
            first = self.single(
                seq, sink, sink, self.takes(seq, stage), self.ignores(seq), stage.is_optional
            )
        self.add_stops(seq, first)
        return first

    def times(self, seq: _Sequence, sink: State, after: State, least: int, most: int) -> State:
        """Return the first of the states that take a stage's events one after another."""
        stage = seq.stage
        seq.repeats = True
        inner = self.inner_ignores(seq)
        take = with_until(self.takes(seq, stage), stage.until)
        if stage.is_greedy and least != most:
            if stage.until is not None:
                self.at_until[sink.name] = self.copy(sink)
            forbid(sink, take)
        last = sink
        for _ in range(least, most):
            last = self.single(seq, last, after, take, inner, True)
            self.add_following_stop(seq, last)
        for _ in range(least - 1):
            last = self.single(seq, last, None, take, inner, False)
            self.add_following_stop(seq, last)
        seq.repeats = False
        return self.single(seq, last, after, take, self.ignores(seq), stage.is_optional)

    def single(
        self,
        seq: _Sequence,
        sink: State,
        after: State | None,
        take: Condition,
        ignore: Condition | None,
        is_optional: bool,
    ) -> State:
        """Return a state that takes one event (or a group once) and goes on to ``sink``.

        ``after``: where a match without the event goes on, if ``is_optional``.
        """
        stage = seq.stage
        if stage.group is not None:
            return self.group_once(seq, sink, after, is_optional)
        state = self.new_state(seq)
        target = self.without_earlier_stops(seq, sink)
        state.add(Action.TAKE, target, take)
        if is_optional:
            assert after is not None
            self.proceed(seq, state, after)
        if ignore is not None:
            waiting = state
            if is_optional or self.begins_optional_group(seq):
                waiting = self.new_state(seq, takes=False)
                waiting.add(Action.TAKE, target, take)
                waiting.add(Action.IGNORE, waiting, ignore)
                self.add_stops(seq, waiting)
            state.add(Action.IGNORE, waiting, ignore)
        return state

    def proceed(self, seq: _Sequence, state: State, target: State) -> None:
        """Lead from a state to ``target`` without an event, or to its copy where a loop ends."""
        stage, goes_on = seq.stage, self.goes_on(seq)
        if stage.is_greedy and stage.until is not None:
            at_until = self.at_until.get(target.name, target)
            state.add(Action.PROCEED, at_until, both(goes_on, stage.until))
            goes_on = both(goes_on, Not(stage.until))
        state.add(Action.PROCEED, target, goes_on)

    def begins_optional_group(self, seq: _Sequence) -> bool:
        """Whether a match may go on without the group that the stage begins."""
        if not seq.is_head_of_group:
            return False
        assert seq.group is not None
        return seq.group.is_optional and not seq.is_repetition

    def group_once(
        self, seq: _Sequence, sink: State, after: State | None, is_optional: bool
    ) -> State:
        """Return the first state of a group's content."""
        first = self.content(seq, sink)
        if is_optional:
            assert after is not None
            first.add(Action.PROCEED, after, self.goes_on(seq))
        return first

    def loop(self, seq: _Sequence, sink: State) -> State:
        """Return a state that takes events of a stage again and again."""
        stage = seq.stage
        if stage.group is not None:
            again = self.new_state(seq)
            first = self.content(seq, again)
            first.add(Action.PROCEED, sink, self.goes_on(seq))
            again.add(Action.PROCEED, first, self.goes_on(seq))
            return first
        ignore = self.inner_ignores(seq)
        take = with_until(self.takes(seq, stage), stage.until)
        state = self.new_state(seq)
        if stage.is_greedy and stage.until is not None:
            self.at_until[sink.name] = self.copy(sink)
        self.proceed(seq, state, sink)
        if stage.is_greedy:
            # Flink's rule: at the event that ends the loop, too.
            forbid(sink, self.takes(seq, stage))
        state.add(Action.TAKE, state, take)
        self.add_following_stop(seq, state)
        if ignore is not None:
            waiting = self.new_state(seq, takes=False)
            waiting.add(Action.TAKE, state, take)
            waiting.add(Action.IGNORE, waiting, ignore)
            state.add(Action.IGNORE, waiting, ignore)
            self.add_following_stop(seq, waiting)
        return state

    def content(self, seq: _Sequence, sink: State) -> State:
        """Compile the stages of the current stage's group."""
        group = seq.stage
        assert group.group is not None
        content = _Sequence(group.group, group, is_repetition=seq.repeats, after=seq.following)
        return self.sequence(content, sink)

    # Conditions.

    def takes(self, seq: _Sequence, stage: Stage) -> Condition:
        """Return the condition of a stage's events, which end with its group's ``until``."""
        until = None if seq.group is None else seq.group.until
        return with_until(stage.takes, until)

    def goes_on(self, seq: _Sequence) -> Condition:
        """Return when a match goes on without an event of the stage.

        Flink's rule: within a group not at the event that ends the group's loop.
        """
        until = None if seq.group is None else seq.group.until
        return ALWAYS if until is None else Not(until)

    def ignores(self, seq: _Sequence) -> Condition | None:
        """Return which events may come before the stage's first one; None: none."""
        contiguity = seq.stage.follows.contiguity
        if seq.is_head_of_group:
            assert seq.group is not None
            contiguity = inner_of(seq.group) if seq.is_repetition else seq.group.follows.contiguity
        return self.ignored(seq, contiguity)

    def inner_ignores(self, seq: _Sequence) -> Condition | None:
        """Return which events may come between two of the stage's events; None: none."""
        stage = seq.group if seq.is_head_of_group else seq.stage
        assert stage is not None
        ignored = self.ignored(seq, inner_of(stage))
        return None if ignored is None else with_until(ignored, seq.stage.until)

    def ignored(self, seq: _Sequence, contiguity: Contiguity) -> Condition | None:
        if contiguity is Contiguity.STRICT:
            return None
        found: Condition = ALWAYS
        if contiguity is Contiguity.RELAXED:
            found = Not(seq.stage.takes)
        return with_until(found, None if seq.group is None else seq.group.until)

    # States.

    def new_state(self, seq: _Sequence, role: Role = Role.NORMAL, takes: bool = True) -> State:
        state = self.named_state(seq.stage.name, role)
        if takes:
            gap_ms = self.gap_ms(seq.stage, state)
            if gap_ms is not None:
                self.gaps_ms[state.name] = gap_ms
        return state

    def gap_ms(self, stage: Stage, state: State) -> int | None:
        if stage.times is None:
            return stage.gap_ms
        # Flink's rule: the last repetition, whose state has the stage's name, is without a limit.
        return None if state.name == stage.name else stage.times.within_ms

    def named_state(self, stage: str, role: Role) -> State:
        number = self.named[stage] = self.named.get(stage, -1) + 1
        name = f"{stage}:{number - 1}" if number else stage
        state = self.states[name] = State(name, stage, role)
        check_states(stage, len(self.states), self.stop_count)
        return state

    def copy(self, state: State) -> State:
        copied = self.named_state(original_name(state.name), state.role)
        for each in state.transitions:
            target = copied if each.target is state else each.target
            copied.transitions.append(Transition(each.action, target, each.condition))
        return copied

    def stop(self, name: str, forbidden: Condition) -> State:
        """Return the stop state of a negative stage."""
        state = self.stops.get(name)
        if state is None:
            state = self.stops[name] = self.named_state(name, Role.STOP)
            state.add(Action.TAKE, state, forbidden)
        return state

    def earlier_forbidden(self, seq: _Sequence) -> Iterator[tuple[Condition, str]]:
        """Yield what must not come before the current stage, with the names of those stages."""
        at = seq.at
        while at > 0:
            before = seq.stages[at - 1]
            is_not = before.follows is Follows.NOT_FOLLOWED_BY
            if not (is_not or before.is_optional):
                return
            at -= 1
            if is_not:
                yield self.takes(seq, before), before.name

    def add_stops(self, seq: _Sequence, state: State) -> None:
        """Lead from a state to the stop states of what must not come before its stage."""
        for forbidden, name in self.earlier_forbidden(seq):
            self.stop_count += 1
            check_states(seq.stage.name, len(self.states), self.stop_count)
            state.add(Action.PROCEED, self.stop(name, forbidden), forbidden)

    def add_following_stop(self, seq: _Sequence, state: State) -> None:
        """Lead from a state of a loop to the stop state of the negative stage after it."""
        following = seq.following
        if following is not None and following.follows is Follows.NOT_FOLLOWED_BY:
            forbidden = self.takes(seq, following)
            state.add(Action.PROCEED, self.stop(following.name, forbidden), forbidden)

    def without_earlier_stops(self, seq: _Sequence, sink: State) -> State:
        """Return a copy of ``sink`` that does not lead to what must not come before the stage."""
        names = {name for _, name in self.earlier_forbidden(seq)}
        return self._without_stops(sink, names) if names else sink

    def _without_stops(self, sink: State, names: set[str]) -> State:
        first: State | None = None
        waiting: list[tuple[State, Transition | None]] = [(sink, None)]
        while waiting:  # states that follow one another without an event may be thousands
            state, leading = waiting.pop()
            copied = self.named_state(original_name(state.name), state.role)
            if leading is not None:
                leading.target = copied
            first = first or copied
            following: list[tuple[State, Transition | None]] = []
            for each in state.transitions:
                target = each.target
                is_stop = target.role is Role.STOP
                if each.action is Action.PROCEED and is_stop and target.name in names:
                    continue
                own = Transition(each.action, target, each.condition)
                copied.transitions.append(own)
                if each.action is Action.PROCEED and not is_stop:
                    following.append((target, own))
                elif target is state and each.action is not Action.PROCEED:
                    own.target = copied
            waiting += reversed(following)
        assert first is not None
        return first


def inner_of(stage: Stage) -> Contiguity:
    """Return which events may come between two of a stage's events."""
    return Contiguity.RELAXED if stage.times is None else stage.times.contiguity


def original_name(name: str) -> str:
    """Return the stage's name of a state's name."""
    return name.split(":")[0]


def with_until(condition: Condition, until: Condition | None) -> Condition:
    """Return a condition that ends with ``until``."""
    return condition if until is None else both(Not(until), condition)


def forbid(state: State, condition: Condition) -> None:
    """Make all transitions of a state wait until a condition does not hold."""
    for each in state.transitions:
        each.condition = And((each.condition, Not(condition)))


def compile_stages(stages: Sequence[Stage]) -> Automaton:
    """Return the automaton of a pattern.

    Raises:
        MalformedPatternError: its limits of time contradict each other, or it is too large.
    """
    compiler = _Compiler()
    end = compiler.named_state("$endState$", Role.FINAL)
    start = compiler.sequence(_Sequence(stages), end)
    within_ms, gap_ms = compiler.within_ms, max(compiler.gaps_ms.values(), default=0)
    if within_ms is not None and gap_ms > within_ms:
        raise MalformedPatternError(
            f"{gap_ms} ms may pass between two events, but a match may take only {within_ms} ms",
            hint="make the time between two events shorter than that of the first and the last",
        )
    automaton = Automaton(start, compiler.states, compiler.within_ms, compiler.gaps_ms)
    check_ways(automaton)
    return automaton
