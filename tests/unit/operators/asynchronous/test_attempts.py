"""A task run that fails is run again in the same process: its own results only, each once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from headrace.datastream import AsyncFunction
from headrace.operators.asynchronous.operator import AsyncWaitSpec
from headrace.runtime.block import records_of
from headrace.runtime.chain.chain import Chain
from headrace.runtime.user_function import UserFunction
from tests.unit.runtime.programs import chain_of, mapping, node, running, to_node, to_sink


class FirstAttemptFails(AsyncFunction[int, Any]):
    """In the first attempt all wait for ever, but for one that raises."""

    def __init__(self) -> None:
        self.attempt = 1

    async def async_invoke(self, value: int) -> list[Any]:
        attempt = self.attempt
        if value == 3 and attempt == 1:
            self.attempt = 2
            raise OSError("the connection broke")
        if value > 1 and attempt == 1:
            await asyncio.sleep(600)
        return [(attempt, value)]


def attempt(chain: Chain) -> list[Any]:
    chain.begin(sender=3, now_ms=1000)
    chain.restore({})
    chain.push_all([1, 2, 3, 4], [10, 20, 30, 40])
    chain.complete()
    return [value for envelope in chain.drain() for value in records_of(envelope.payload)]


@pytest.mark.parametrize("ordered", [True, False])
def test_a_task_run_that_failed_leaves_nothing_to_the_next(ordered: bool) -> None:
    function = UserFunction(FirstAttemptFails(), "async_invoke")
    chain = running(
        chain_of(
            node(0, None, to_node(1)),
            node(1, AsyncWaitSpec(function, ordered, 0, 3), to_node(2)),
            node(2, mapping(lambda value: value), to_sink(0)),
        )
    )
    with pytest.raises(OSError, match="broke"):
        attempt(chain)
    for _ in range(2):
        assert sorted(attempt(chain)) == [(2, 1), (2, 2), (2, 3), (2, 4)]
    chain.close()
