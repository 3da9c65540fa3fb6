"""Broadcast state: one stream's rules for the elements of another."""

from pyflink.common import Types
from pyflink.datastream import (
    BroadcastProcessFunction,
    DataStream,
    KeyedBroadcastProcessFunction,
    OutputTag,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor

from .common import FIVE_SECONDS, add, program, timed

RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())


class LimitAtTheEnd(KeyedBroadcastProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element(self, value, ctx):
        self.total.update((self.total.value() or 0) + value[1])
        ctx.timer_service().register_event_time_timer(1_000_000)

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(RULES).put(value[0], value[1])

    def on_timer(self, timestamp, ctx):
        limit = ctx.get_broadcast_state(RULES).get(ctx.get_current_key())
        yield ctx.get_current_key(), self.total.value(), limit


@program(290, compare="ordered_by_key:0", mode="streaming")
def broadcast_rules_at_the_end(env: StreamExecutionEnvironment) -> DataStream:
    """Rules and elements come in any order; a timer at the end of time looks at the rules.

    All of them have come then: both inputs have ended.
    """
    rules = timed(env, [("a", 7, 10), ("b", 8, 10), ("a", 9, 20)]).broadcast(RULES)
    events = timed(env, [("a", 1, 10), ("b", 2, 20), ("a", 3, 30), ("c", 4, 40)])
    return events.key_by(lambda event: event[0]).connect(rules).process(LimitAtTheEnd())


WORDS = MapStateDescriptor("rules", Types.INT(), Types.STRING())


class RulesAtTheEnd(KeyedBroadcastProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(1_000_000)

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(WORDS).put(value[0], value[1])

    def on_timer(self, timestamp, ctx):
        rules = ctx.get_broadcast_state(WORDS)
        yield ctx.get_current_key(), sorted(rules.items()), rules.contains(1), rules.get(9)


@program(291, compare="multiset", parallelism=2, mode="streaming")
def broadcast_rules_reach_every_subtask(env: StreamExecutionEnvironment) -> DataStream:
    """With two subtasks, each has all rules: every key sees them at the end."""
    rules = timed(env, [(1, "one", 10), (2, "two", 10), (3, "three", 20)]).broadcast(WORDS)
    events = timed(env, [(name, 0, 10) for name in "abcdefgh"])
    return events.key_by(lambda event: event[0]).connect(rules).process(RulesAtTheEnd())


class RuleOfKey(KeyedBroadcastProcessFunction):
    def process_element(self, value, ctx):
        yield value[0], value[1], ctx.get_broadcast_state(RULES).get(value[0])

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(RULES).put(value[0], value[1])


@program(292, compare="ordered_by_key:0", mode="batch")
def broadcast_rules_first_in_a_batch(env: StreamExecutionEnvironment) -> DataStream:
    """In a batch the broadcast input is read first: each element sees all rules."""
    rules = env.from_collection([("a", 7), ("b", 8), ("a", 9)]).broadcast(RULES)
    events = env.from_collection([("a", 1), ("b", 2), ("a", 3), ("c", 4)])
    return events.key_by(lambda event: event[0]).connect(rules).process(RuleOfKey())


class RuleOfValue(BroadcastProcessFunction):
    def process_element(self, value, ctx):
        rules = ctx.get_broadcast_state(RULES)
        yield value, rules.get(value), rules.contains(value), len(list(rules.keys()))

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(RULES).put(value[0], value[1])


@program(293, compare="multiset", mode="batch", python="process")
def broadcast_without_keys_in_a_batch(env: StreamExecutionEnvironment) -> DataStream:
    """A BroadcastProcessFunction in a batch: the rules are there before the elements."""
    rules = env.from_collection([("a", 7), ("b", 8)]).broadcast(RULES)
    return env.from_collection(["a", "b", "c"]).connect(rules).process(RuleOfValue())


class WaitForRule(KeyedBroadcastProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.waiting = runtime_context.get_list_state(ListStateDescriptor("waiting", Types.LONG()))
        self.done = runtime_context.get_list_state(ListStateDescriptor("done", Types.LONG()))

    def process_element(self, value, ctx):
        rule = ctx.get_broadcast_state(RULES).get(value[0])
        if rule is None:
            self.waiting.add(value[1])
        else:
            self.done.add(value[1] * rule)
        ctx.timer_service().register_event_time_timer(500_000)

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(RULES).put(value[0], value[1])

    def on_timer(self, timestamp, ctx):
        rule = ctx.get_broadcast_state(RULES).get(ctx.get_current_key())
        late = [value * (rule or 0) for value in self.waiting.get()]
        yield ctx.get_current_key(), sorted([*self.done.get(), *late])


@program(294, compare="ordered_by_key:0", mode="streaming")
def broadcast_elements_that_wait(env: StreamExecutionEnvironment) -> DataStream:
    """Elements that come before their rule wait in state for the end.

    What each key gives in all does not depend on what came first.
    """
    rules = timed(env, [("a", 7, 10), ("b", 8, 10)]).broadcast(RULES)
    events = timed(env, [("a", 1, 10), ("b", 2, 20), ("a", 3, 30), ("c", 4, 40)])
    return events.key_by(lambda event: event[0]).connect(rules).process(WaitForRule())


NOTES = OutputTag("notes", Types.STRING())


class BothSidesYield(BroadcastProcessFunction):
    def process_element(self, value, ctx):
        yield "element", value
        yield NOTES, f"element {value}"

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(RULES).put(value[0], value[1])
        yield "rule", value[0]
        yield NOTES, f"rule {value[0]}"


@program(295, compare="multiset")
def broadcast_side_gives_results(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """The broadcast side yields records and side outputs too.

    With one subtask it does so once for each rule.
    """
    rules = env.from_collection([("a", 7), ("b", 8)]).broadcast(RULES)
    main = env.from_collection([1, 2, 3]).connect(rules).process(BothSidesYield())
    return {"main": main, "notes": main.get_side_output(NOTES)}


LIMITS = MapStateDescriptor("limits", Types.STRING(), Types.LONG())
NAMES = MapStateDescriptor("names", Types.STRING(), Types.STRING())


class LimitsAndNames(KeyedBroadcastProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(500_000)

    def process_broadcast_element(self, value, ctx):
        kind, key, setting, _ = value
        if kind == "limit":
            ctx.get_broadcast_state(LIMITS).put(key, setting)
        elif kind == "name":
            ctx.get_broadcast_state(NAMES).put(key, setting)
        else:
            ctx.get_broadcast_state(LIMITS).remove(key)

    def on_timer(self, timestamp, ctx):
        key = ctx.get_current_key()
        limits, names = ctx.get_broadcast_state(LIMITS), ctx.get_broadcast_state(NAMES)
        yield key, limits.get(key), names.get(key), sorted(limits.keys()), sorted(names.values())


@program(296, compare="ordered_by_key:0", mode="streaming")
def broadcast_two_states(env: StreamExecutionEnvironment) -> DataStream:
    """One broadcast stream with two states: limits and names; a rule can be taken back."""
    rule_events = [
        ("limit", "a", 7, 10),
        ("name", "a", "first", 10),
        ("limit", "b", 8, 20),
        ("name", "b", "second", 20),
        ("drop", "b", None, 30),
    ]
    rules = timed(env, rule_events).broadcast(LIMITS, NAMES)
    return (
        timed(env, [("a", 1, 10), ("b", 2, 20), ("c", 4, 40)])
        .key_by(lambda event: event[0])
        .connect(rules)
        .process(LimitsAndNames())
    )


class TimesOfContext(KeyedBroadcastProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value[2] + 1_000)
        yield "element", value[0], ctx.timestamp(), ctx.get_current_key()

    def process_broadcast_element(self, value, ctx):
        yield "rule", value[0], ctx.timestamp(), None

    def on_timer(self, timestamp, ctx):
        yield "timer", ctx.get_current_key(), ctx.timestamp(), ctx.time_domain().name


@program(297, compare="multiset", mode="streaming")
def broadcast_times_of_the_context(env: StreamExecutionEnvironment) -> DataStream:
    """Timestamps of elements, of rules and of timers by the context of broadcast functions."""
    rules = timed(env, [("x", 7, 10), ("y", 8, 15)]).broadcast(RULES)
    return (
        timed(env, [("a", 1, 10), ("b", 2, 20)])
        .key_by(lambda event: event[0])
        .connect(rules)
        .process(TimesOfContext())
    )


class KeysOfRules(BroadcastProcessFunction):
    def process_element(self, value, ctx):
        rules = ctx.get_broadcast_state(RULES)
        yield value, rules.contains(value), list(rules.keys())

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(RULES).put(value[0], value[1])


@program(298, compare="multiset", python="process")
def broadcast_without_rules(env: StreamExecutionEnvironment) -> DataStream:
    """No rule ever comes: elements see an empty state."""
    rules = env.from_collection([("a", 1)]).filter(lambda rule: False).broadcast(RULES)
    return env.from_collection(["a", "b"]).connect(rules).process(KeysOfRules())


class TotalsAboveLimit(KeyedBroadcastProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.totals = runtime_context.get_list_state(ListStateDescriptor("totals", Types.LONG()))

    def process_element(self, value, ctx):
        self.totals.add(value[1])
        ctx.timer_service().register_event_time_timer(500_000)

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(RULES).put(value[0], value[1])

    def on_timer(self, timestamp, ctx):
        limit = ctx.get_broadcast_state(RULES).get(ctx.get_current_key()) or 0
        yield ctx.get_current_key(), [total for total in sorted(self.totals.get()) if total > limit]


@program(299, compare="ordered_by_key:0", mode="streaming")
def broadcast_after_a_window(env: StreamExecutionEnvironment) -> DataStream:
    """Results of windows meet broadcast rules at the end."""
    rules = timed(env, [("a", 3, 10), ("b", 8, 10)]).broadcast(RULES)
    events = timed(
        env, [("a", 1, 1_000), ("b", 2, 6_000), ("a", 3, 4_999), ("a", 2, 7_000), ("a", 9, 13_000)]
    )
    totals = events.key_by(lambda event: event[0]).window(FIVE_SECONDS).reduce(add)
    return totals.key_by(lambda event: event[0]).connect(rules).process(TotalsAboveLimit())


class ForStreamsWithoutKeys(BroadcastProcessFunction):
    def process_element(self, value, ctx):
        yield value

    def process_broadcast_element(self, value, ctx):
        pass


@program(264, compare="raises:TypeError", mode="streaming")
def error_broadcast_function_on_keyed_stream(env: StreamExecutionEnvironment) -> DataStream:
    """A BroadcastProcessFunction is for streams without keys."""
    state = MapStateDescriptor("rules", Types.STRING(), Types.INT())
    rules = env.from_collection([("a", 1)]).broadcast(state)
    return (
        env.from_collection([("a", 1)])
        .key_by(lambda event: event[0])
        .connect(rules)
        .process(ForStreamsWithoutKeys())
    )


class ForKeyedStreams(KeyedBroadcastProcessFunction):
    def process_element(self, value, ctx):
        yield value

    def process_broadcast_element(self, value, ctx):
        pass


@program(265, compare="raises:TypeError", mode="streaming")
def error_keyed_broadcast_function_without_keys(env: StreamExecutionEnvironment) -> DataStream:
    """A KeyedBroadcastProcessFunction needs a keyed stream."""
    state = MapStateDescriptor("rules", Types.STRING(), Types.INT())
    rules = env.from_collection([("a", 1)]).broadcast(state)
    return env.from_collection([("a", 1)]).connect(rules).process(ForKeyedStreams())
