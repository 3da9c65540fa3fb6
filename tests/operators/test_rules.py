"""A broadcast input, and the state that it changes for a whole task."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from headrace.common.configuration import Configuration
from headrace.common.watermark_strategy import MIN_WATERMARK, WatermarkStrategy
from headrace.datastream import DataStream, FilterFunction, StreamExecutionEnvironment
from headrace.datastream.connectors import _indexed as indexed
from headrace.errors import PlanError
from headrace.runners.captures import read_call, replay_of
from headrace.testing import KeyedHarness, PipelineResults, ProcessHarness, run_pipeline

from .connecting import broadcast, connected
from .rules import KeyedRulesOperator, KeyedRulesSpec, RulesSpec

BY_TIME = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v: v[-1])
RECORDS = [(n * 7 % 11, n, 1_000 + n * 10) for n in range(60)]
NAMES = [f"{'cab'[n % 3]}{n // 20}" for n in range(60)]  # others in time, not in order
RULES = [(NAMES[n], None if n % 7 == 6 else n, 1_005 + n * 10) for n in range(60)]


def rules_at(moment: int, rules: list[Any] = RULES) -> dict[str, int]:
    known: dict[str, int] = {}
    for name, amount, at in rules:
        if at > moment:
            continue
        if amount is None:
            known.pop(name, None)
        else:
            known[name] = known.get(name, 0) + amount
    return known


class Everything(FilterFunction):
    """Keeps all, in a task of the key."""

    def open(self, runtime_context: Any) -> None:
        """Nothing to open; but only a function that is opened needs its key."""

    def filter(self, value: Any) -> bool:
        return True


@pytest.fixture(autouse=True)
def a_mark_after_each_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexed, "CHUNK_RECORDS", 1)


def run(program: Any, *mode: Any, **how: Any) -> PipelineResults:
    env = StreamExecutionEnvironment(
        Configuration.from_dict({"headrace.watermark.chunk-records": "1"})
    )
    return run_pipeline(program(env), *mode, **how)


def streams(env: StreamExecutionEnvironment) -> tuple[DataStream, DataStream]:
    records = env.from_collection(RECORDS).assign_timestamps_and_watermarks(BY_TIME)
    rules = env.from_collection(RULES).assign_timestamps_and_watermarks(BY_TIME)
    return records, broadcast(rules)


def keyed(**how: Any) -> Any:
    def program(env: StreamExecutionEnvironment) -> DataStream:
        records, rules = streams(env)
        by_key = records.key_by(lambda record: record[0])
        return connected(KeyedRulesSpec(**how), by_key, rules)

    return program


SPREAD = {"key_groups": 7, "parallelism": 3}
STREAMS: list[Any] = [
    {},
    SPREAD,
    {"cuts": [1] * 100},
    {"cuts": [3, 1, 7, 2] * 10, **SPREAD},
    {"cuts": [3, 1, 7, 2] * 10, "backends": "paged", "restarts": True},
    {"cuts": [5] * 20, "backends": "paged", "restarts": True, **SPREAD},
    {"cuts": [5] * 20, "restarts": "savepoint", "regroup": [(3, 1), (11, 2)], **SPREAD},
    {
        "cuts": [4] * 30,
        "backends": "paged",
        "restarts": "savepoint",
        "regroup": [(3, 1), (11, 2)],
        **SPREAD,
    },
]


@pytest.mark.parametrize("how", STREAMS)
def test_a_record_sees_the_rules_of_its_time_however_it_is_run(how: Any) -> None:
    """At the watermark of a record every rule up to then is known; some later ones may be, too."""
    found = run(keyed(waits=True), **how).only
    assert sorted(value for _, value, _, _ in found) == sorted(RECORDS)
    for _, value, rules, _ in found:
        steps = range(0, 111, 5)
        assert dict(rules) in [rules_at(value[-1] + step) for step in steps], (how, value)


@pytest.mark.parametrize("how", STREAMS)
def test_a_rule_and_a_record_are_read_as_their_inputs_advance(how: Any) -> None:
    found = run(keyed(), **how).only
    assert sorted(value for _, value, _, _ in found) == sorted(RECORDS)
    for _, value, rules, _ in found:
        # in one micro-batch an input is not read ahead of the other
        steps = range(-45, 46, 5) if "cuts" not in how else range(-60, 61, 5)
        assert dict(rules) in [rules_at(value[-1] + step) for step in steps], (how, value)


def test_in_one_go_the_groups_see_what_one_group_sees() -> None:
    one = run(keyed()).only
    assert sorted(run(keyed(), **SPREAD).only) == sorted(one)
    assert sorted(run(keyed(), key_groups=3).only) == sorted(one)
    assert len({rules for _, _, rules, _ in one}) > 15
    # items come in the order in which names were first put
    assert any(list(rules) != sorted(rules) for _, _, rules, _ in one)


def test_a_batch_has_all_rules_before_the_first_record() -> None:
    for how in ({}, SPREAD):
        found = run(keyed(), "batch", **how).only
        assert {tuple(sorted(rules)) for _, _, rules, _ in found} == {
            tuple(sorted(rules_at(10_000).items()))
        }
        assert len(found) == len(RECORDS)


@pytest.mark.parametrize("mode", ["streaming", "batch"])
def test_what_is_learned_is_emitted_once_per_task(mode: Any) -> None:
    for how in ({}, {"key_groups": 7}):
        found = run(keyed(tells=True), mode, **how)
        known = [value[1] for value in found.only if value[0] == "learned"]
        assert sorted(map(str, known)) == sorted(map(str, RULES))
        assert len(found.only) == len(RECORDS) + len(RULES)


def unkeyed(env: StreamExecutionEnvironment) -> DataStream:
    records, rules = streams(env)
    return connected(RulesSpec(), records.rebalance(), rules)


@pytest.mark.parametrize(
    "how",
    [
        {"parallelism": 3},
        {"parallelism": 3, "key_groups": 4, "cuts": [5] * 20},
        {
            "parallelism": 3,
            "key_groups": 4,
            "cuts": [5] * 20,
            "backends": "paged",
            "restarts": True,
        },
    ],
)
def test_subtasks_have_instances_of_their_own(how: Any) -> None:
    found = run(unkeyed, **how).only
    known = Counter(str(value[1]) for value in found if value[0] == "learned")
    assert known == {str(rule): 3 for rule in RULES}
    records = [value for value in found if value[0] != "learned"]
    assert sorted(value for value, _ in records) == sorted(RECORDS)
    for value, rules in records:
        assert dict(rules) in [rules_at(value[-1] + step) for step in range(-90, 91, 5)], value


def test_new_subtasks_know_the_rules() -> None:
    early = [("a", 1, 1_000), ("b", 2, 1_001)]

    def program(env: StreamExecutionEnvironment) -> DataStream:
        records = env.from_collection(RECORDS).assign_timestamps_and_watermarks(BY_TIME)
        rules = env.from_collection(early).assign_timestamps_and_watermarks(BY_TIME)
        return connected(RulesSpec(), records.rebalance(), broadcast(rules))

    how = {"cuts": [4, *[5] * 20], "restarts": "savepoint", "regroup": [(4, 5), (2, 1), (3, 3)]}
    found = run(program, key_groups=4, parallelism=2, **how).only
    late = [rules for value, rules in found if value != "learned" and value[-1] > 1_100]
    assert len(late) == 49
    assert set(late) == {(("a", 1), ("b", 2))}


def test_a_plain_operator_after_a_broadcast_gets_every_record_in_every_subtask() -> None:
    def program(env: StreamExecutionEnvironment) -> DataStream:
        return broadcast(env.from_collection([1, 2, 3])).map(lambda value: value * 10)

    assert sorted(run(program, parallelism=3, key_groups=2).only) == [
        *[10] * 3,
        *[20] * 3,
        *[30] * 3,
    ]


def test_only_the_broadcast_side_changes_the_shared_state() -> None:
    class Wrong(KeyedRulesSpec):
        def build(self) -> Any:
            made: Any = super().build()
            made.process = lambda keys, values, timestamps: made._rules.put("x", 1)
            return made

    def program(env: StreamExecutionEnvironment) -> DataStream:
        records, rules = streams(env)
        return connected(Wrong(), records.key_by(lambda record: record[0]), rules)

    with pytest.raises(PlanError, match="broadcast state 'rules' is changed"):
        run(program)


def test_the_plan_tells_of_it() -> None:
    env = StreamExecutionEnvironment(Configuration.from_dict({"pipeline.max-parallelism": "16"}))
    text = keyed()(env).explain()
    assert "-> BROADCAST exchange -> vertex 0 (input 1)" in text
    assert "KeyedRules  {keyed state, broadcast state, event-time timers}" in text


def settings(mode: str, parallelism: int = 2, **more: str) -> StreamExecutionEnvironment:
    given = {
        "execution.runtime-mode": mode,
        "parallelism.default": str(parallelism),
        "headrace.source.max-records-per-batch": "20",
        "headrace.watermark.chunk-records": "1",
    }
    return StreamExecutionEnvironment(Configuration.from_dict(given | more))


EARLY = [("a", 1, 900), ("b", 2, 901), ("a", 3, 902)]


def known_before(env: StreamExecutionEnvironment, records: list[Any] = RECORDS) -> DataStream:
    """All rules come before the first record, so a batch gives what a stream gives."""
    rules = env.from_collection(EARLY).name("rules").assign_timestamps_and_watermarks(BY_TIME)
    source = env.from_collection(records).name("records").assign_timestamps_and_watermarks(BY_TIME)
    by_key = source.key_by(lambda record: record[0])
    return connected(KeyedRulesSpec(waits=True), by_key, broadcast(rules))


@pytest.mark.spark
def test_on_spark_as_on_the_local_runner() -> None:
    local = sorted(run_pipeline(known_before).only)
    assert {rules for _, _, rules, _ in local} == {(("a", 4), ("b", 2))}
    for mode in ("STREAMING", "BATCH"):
        results: Any = known_before(settings(mode)).execute_and_collect()
        with results:
            found = list(results)
        assert [value[:3] for value in sorted(found)] == [value[:3] for value in local], mode


@pytest.mark.spark
@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_on_spark_what_a_partition_does_for_its_copy_alone_is_not_counted(mode: str) -> None:
    """There are three partitions and one subtask."""
    env = settings(mode, 3)
    records, rules = env.from_collection([1, 2]), env.from_collection(EARLY)
    found = connected(RulesSpec(), records.rebalance(), broadcast(rules)).name("rules")
    found.set_parallelism(1).filter(lambda value: value[0] != "learned").print()
    counted = env.execute("counts").get_all_accumulator_results()
    assert counted["rules.numRecordsIn"] == len(EARLY) + 2


@pytest.mark.spark
@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_on_spark_subtasks_hear_each_rule_once(mode: str) -> None:
    results: Any = unkeyed(settings(mode)).execute_and_collect()
    with results:
        found = list(results)
    known = Counter(str(value[1]) for value in found if value[0] == "learned")
    assert known == {str(rule): 2 for rule in RULES}
    assert sorted(value for value, _ in found if value != "learned") == sorted(RECORDS)


@pytest.mark.spark
def test_on_spark_new_tasks_know_the_rules_after_a_failure(tmp_path: Path) -> None:
    """Begun anew in the middle, with other parallelism, and subtasks where there were none."""
    mended = tmp_path / "mended"

    def fragile(record: Any) -> Any:
        if record[1] == 40 and not mended.exists():
            raise ValueError("not yet")
        return record

    def run_once(parallelism: int, subtasks: int) -> list[Any]:
        env = settings(
            "STREAMING",
            parallelism,
            **{"execution.checkpointing.dir": str(tmp_path / "state"), "pipeline.name": "rules"},
        )
        rules = env.from_collection(EARLY).name("rules").uid("rules")
        all_rules = broadcast(rules.assign_timestamps_and_watermarks(BY_TIME))
        records = env.from_collection(RECORDS).name("records").uid("records").map(fragile)
        timed = records.assign_timestamps_and_watermarks(BY_TIME)
        by_key = timed.key_by(lambda record: record[0])
        with_key = connected(KeyedRulesSpec(waits=True), by_key, all_rules).uid("keyed")
        without = connected(RulesSpec(), timed.rebalance(), all_rules).uid("unkeyed")
        without.set_parallelism(subtasks)
        found: list[Any] = []
        results: Any = with_key.union(without).execute_and_collect()
        try:
            with results:
                found.extend(results)
        except ValueError as failure:
            assert not mended.exists() and "not yet" in str(failure)
        return found

    before = run_once(2, 1)
    mended.touch()
    after = run_once(3, 3)
    assert len(before) > 0 and 0 < len(after) < 2 * len(RECORDS)
    known = {"a": 4, "b": 2}
    with_key = [value for value in before + after if len(value) == 4]
    without = [value for value in before + after if len(value) == 2 and value[0] != "learned"]
    assert {value for _, value, _, _ in with_key} == {*RECORDS}
    assert {value for value, _ in without} == {*RECORDS}
    assert all(dict(rules) == known for _, _, rules, _ in with_key)
    assert all(dict(rules) == known for _, rules in without if _[-1] > 1_100)
    # what waited for its time when the job failed has all of its key's records
    counts = {value: count for _, value, _, count in with_key}
    assert max(counts.values()) == max(Counter(key for key, _, _ in RECORDS).values())


@pytest.mark.parametrize("backend", ["heap", "paged"])
def test_in_a_harness(backend: Any) -> None:
    spec = KeyedRulesSpec(tells=True)
    with (
        KeyedHarness(spec, (0, None), backend=backend) as task,
        KeyedHarness(spec, (0, None)) as other,
    ):
        task.process(("ann", 1, 10), 10)
        task.process(("a", 5, 11), 11, input=1)
        task.process(("ann", 2, 12), 12)
        assert task.output() == [
            ("ann", ("ann", 1, 10), (), 1),
            ("learned", ("a", 5, 11)),
            ("ann", ("ann", 2, 12), (("a", 5),), 2),
        ]
        task.advance_watermark(20, input=1)
        assert (task.watermark, task.input_watermark(1)) == (MIN_WATERMARK, 20)
        other.restore(task.snapshot())
        other.process(("b", 7, 21), 21, input=1)
        other.process(("bob", 3, 22), 22)
        assert other.output()[1:] == [("bob", ("bob", 3, 22), (("a", 5), ("b", 7)), 1)]


def test_in_a_harness_without_keys() -> None:
    with ProcessHarness(RulesSpec(), broadcast=[1]) as task:
        task.process(("a", 5, 11), 11, input=1)
        task.process("record", 12)
        assert task.output() == [("learned", ("a", 5, 11)), ("record", (("a", 5),))]


def test_a_failed_call_is_made_again_with_its_rules(tmp_path: Path) -> None:
    def program(env: StreamExecutionEnvironment) -> DataStream:
        records, rules = streams(env)
        spec = KeyedRulesSpec()
        by_key = records.key_by(lambda record: record[0])
        return connected(spec, by_key, rules)

    def fails_at(count: int) -> Any:
        def process(
            self: Any, keys: list[Any], values: list[Any], timestamps: list[int | None] | None
        ) -> None:
            if len(self._rules) == count:
                raise ValueError(f"{values[0]} sees {[*self._rules.items()]}")

        return process

    env = settings("STREAMING", **{"headrace.failure.capture-dir": str(tmp_path)})
    env._configuration.set_string("execution.target", "local")
    program(env).print()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(KeyedRulesOperator, "process", fails_at(3))
        with pytest.raises(ValueError, match="sees") as first:
            env.execute("rules")
        (file,) = tmp_path.glob("*.headrace-call")
        again = replay_of(read_call(str(file)))
        with pytest.raises(ValueError, match="sees") as second:
            list(again.run())
        again.close()
    assert str(first.value) == str(second.value)


def test_a_failed_call_with_nothing_but_rules_is_made_again_at_its_time(tmp_path: Path) -> None:
    def fails(self: Any, *given: Any) -> None:
        raise ValueError(f"at {self.key_context.now_ms}")

    env = settings("STREAMING", **{"headrace.failure.capture-dir": str(tmp_path)})
    env._configuration.set_string("execution.target", "local")
    records, rules = streams(env)
    nothing = records.filter(lambda record: False).key_by(lambda record: record[0])
    connected(KeyedRulesSpec(), nothing, rules).print()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(KeyedRulesOperator, "learn", fails)
        with pytest.raises(ValueError, match=r"^at [1-9]") as first:
            env.execute("rules")
        (file,) = tmp_path.glob("*.headrace-call")
        again = replay_of(read_call(str(file)))
        with pytest.raises(ValueError, match=r"^at [1-9]") as second:
            list(again.run())
        again.close()
    assert str(first.value) == str(second.value)


@pytest.mark.spark
@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_on_spark_rules_pass_by_other_stages_and_come_from_one(mode: str) -> None:
    """Each of the two partitions hears a rule once, from the source and from a keyed stage."""
    env = settings(mode)
    records, rules = streams(env)
    later = records.key_by(lambda record: record[0]).filter(Everything())
    known = KeyedRulesSpec(tells=True)
    direct = connected(known, later.key_by(lambda record: record[0]), rules)
    by_name = env.from_collection(RULES).assign_timestamps_and_watermarks(BY_TIME)
    kept = by_name.key_by(lambda rule: rule[0]).filter(Everything())
    stage = connected(known, later.key_by(lambda record: record[0]), broadcast(kept))
    both = direct.map(lambda value: ("direct", value)).union(
        stage.map(lambda value: ("stage", value))
    )
    results: Any = both.execute_and_collect()
    with results:
        found = list(results)
    for way in ("direct", "stage"):
        values = [value for name, value in found if name == way]
        learned = Counter(str(value[1]) for value in values if value[0] == "learned")
        assert learned == {str(rule): 2 for rule in RULES}, way
        assert sorted(v[1] for v in values if v[0] != "learned") == sorted(RECORDS), way
