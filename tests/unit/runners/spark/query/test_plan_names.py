"""The names that Spark's plans show."""

from __future__ import annotations

import pickle
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.sql.streaming.stateful_processor_util import TransformWithStateInPandasUdfUtils

from headrace.connector import ExecutedBy
from headrace.runners.spark.query.plan_names import (
    source_labels,
    sources_name,
    stage_name,
    state_udf_named,
)
from headrace.runtime.operator import Link, NodeProgram
from headrace.runtime.program import ChainProgram


def chain(*names: str) -> ChainProgram:
    nodes = {
        name: NodeProgram(
            name, name, None, "", None, tuple(Link("node", after) for after in names[at : at + 1])
        )
        for at, name in enumerate(names, 1)
    }
    return ChainProgram(names[0], nodes, ())


def source(id: str, name: str, executed_by: ExecutedBy | None = None) -> Any:
    return SimpleNamespace(
        id=id,
        name=name,
        source=SimpleNamespace(executed_by=executed_by),
        chain=chain(name, "parse"),
    )


def program(*sources: Any) -> Any:
    stage = [SimpleNamespace(chain=chain("sum", "filter")), SimpleNamespace(chain=chain("join"))]
    return SimpleNamespace(sources=sources, stages=[stage])


def test_chains_are_named_by_their_operators() -> None:
    assert sources_name([source("1", "orders")]) == "Source: orders -> parse"
    assert stage_name(program(), 1) == "sum -> filter, join"


def test_a_long_name_is_cut() -> None:
    name = sources_name([source("1", "x" * 300)])
    assert len(name) == 200 and name.endswith("x …")


def test_sources_of_one_name_are_told_apart() -> None:
    found = program(
        source("1", "orders"), source("2", "prices"), source("3", "orders"),
        source("4", "orders", ExecutedBy.SPARK),
    )  # fmt: skip
    assert source_labels(found) == {"1": "orders (1)", "2": "prices", "3": "orders (3)"}


def test_the_function_of_a_keyed_stage_has_its_name_while_the_plan_is_made() -> None:
    utils = TransformWithStateInPandasUdfUtils(SimpleNamespace(), "None")  # type: ignore[arg-type]
    with pytest.raises(ValueError), state_udf_named("sum -> filter"):
        assert utils.transformWithStateUDF.__name__ == "sum -> filter"
        assert utils.transformWithStateWithInitStateUDF.__name__ == "sum -> filter"
        pickled = cloudpickle.dumps(utils.transformWithStateUDF)
        raise ValueError
    assert utils.transformWithStateUDF.__name__ == "transformWithStateUDF"
    found = pickle.loads(pickled)
    assert found.__func__ is TransformWithStateInPandasUdfUtils.transformWithStateUDF
