"""One event loop for a process, which outlives whoever stops it; a fork makes its own."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
from asyncio import AbstractEventLoop
from typing import Any

import pytest

from headrace.operators.asynchronous.loop import event_loop, wait_if_awaitable


def answer(loop: AbstractEventLoop) -> int:
    async def pid() -> int:
        return os.getpid()

    return asyncio.run_coroutine_threadsafe(pid(), loop).result(10)


def test_it_is_the_same_loop_each_time_and_runs() -> None:
    assert event_loop() is event_loop()
    assert answer(event_loop()) == os.getpid()


def test_it_goes_on_when_somebody_stops_it() -> None:
    loop = event_loop()
    loop.call_soon_threadsafe(loop.stop)
    assert answer(loop) == os.getpid()

    async def leaves() -> None:
        raise SystemExit(2)

    task = asyncio.run_coroutine_threadsafe(leaves(), loop)
    with pytest.raises(SystemExit):
        task.result(10)
    assert answer(loop) == os.getpid() and event_loop() is loop


def test_what_can_be_awaited_is_awaited_on_it() -> None:
    seen: list[Any] = []

    async def look() -> None:
        seen.append(asyncio.get_running_loop())

    wait_if_awaitable(None)
    wait_if_awaitable(look())
    assert seen == [event_loop()]


def _answer_in_child(to_parent: Any, inherited: int) -> None:
    to_parent.send((id(event_loop()) != inherited, answer(event_loop())))


def test_a_forked_process_makes_a_loop_of_its_own() -> None:
    inherited = id(event_loop())
    here, there = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(
        target=_answer_in_child, args=(there, inherited)
    )
    child.start()
    assert here.poll(30)
    own, pid = here.recv()
    child.join(30)
    assert own and pid == child.pid and child.exitcode == 0
