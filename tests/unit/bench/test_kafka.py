"""The benchmark from Kafka to Kafka: what must come out, and when it could be read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.environments import ENVIRONMENTS, OWN
from bench.kafka import inputs, latency, peers, rates, watch
from bench.kafka.peers import pipeline


def test_each_contender_has_a_program_an_environment_and_two_sizes() -> None:
    programs = {path.stem for path in Path(peers.__path__[0]).glob("[a-z]*_*.py")}
    chosen = [each for found in rates.CONTENDERS.values() for each, _ in found]
    chosen += latency.CONTENDERS
    assert {each.module for each in chosen} == programs
    assert {each.environment for each in chosen} <= {OWN, *ENVIRONMENTS}
    sizes = [sizes for found in rates.CONTENDERS.values() for _, sizes in found]
    assert all(small < large for small, large in sizes)


def test_a_digest_is_of_any_order_and_spelling_and_of_nothing_else() -> None:
    records = [{"id": 1, "notional": 2}, {"notional": 4, "id": 3}]
    assert inputs.digest(records) == inputs.digest(records[::-1])
    assert inputs.digest(records) == inputs.digest([{"notional": 2, "id": 1}, records[1]])
    assert inputs.digest(records) != inputs.digest([*records, records[0]])
    assert inputs.digest(records) != inputs.digest([records[0], {"id": 3, "notional": 5}])


@pytest.mark.parametrize("job", [inputs.STATELESS, inputs.COUNT])
def test_what_must_come_out_has_the_fields_that_contenders_write(job: str) -> None:
    read, _ = pipeline.fields(job)
    found = [json.loads(value) for _, value in inputs.messages(job, 300)]
    assert len(found) == 300
    assert all({*read} <= record.keys() for record in found)
    assert 0 < inputs.wanted(job, 300).count < 300


def test_a_partition_is_read_when_its_end_is_after_its_last_record() -> None:
    a, b = ("output", 0), ("output", 1)
    seen = watch.Seen([(1.0, {a: 5, b: 0}), (2.0, {a: 5, b: 3}), (3.0, {a: 6, b: 4})])
    assert seen.seconds({a: 4}) == 1.0
    assert seen.seconds({a: 4, b: 2}) == 2.0
    assert seen.seconds({a: 4, b: 3}) == 3.0
