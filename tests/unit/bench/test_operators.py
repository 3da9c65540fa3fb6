"""Operators beside another checkout's: each case runs, and what is compared does the same work."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bench.environments import ROOT
from bench.measure import operators

pytestmark = pytest.mark.slow


def test_each_case_gives_the_same_on_both_backends_and_again() -> None:
    for name, case in operators.CASES.items():
        few = replace(case.given, records=120, keys=7, batch=50)
        work = operators.Work(replace(case, given=few))
        runs = [work.run(backend) for backend in case.backends]
        runs += [work.run(case.backends[0])] if name in ("reduce", "window join") else []
        assert len({outputs for _, outputs in runs}) == 1, name
        assert all(took > 0 for took, _ in runs), name
        gives_nothing = "nothing" in name or "1,000,000" in name
        assert (runs[0][1] == 0) == gives_nothing, name


def test_a_checkout_beside_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    case: dict[str, Any] = operators.CASES
    few = replace(case["reduce"], repeats=1)
    monkeypatch.setitem(operators.CASES, "reduce", few)
    found = operators.measure(ROOT, ["reduce"], 1)
    assert [*found] == ["reduce, heap", "reduce, pages"]
    assert all(ratio > 0 for (ratio,) in found.values())


def test_other_outputs_are_no_comparison() -> None:
    class Stub:
        def __init__(self, outputs: int) -> None:
            self.outputs = outputs

        def ask(self, name: str, backend: str) -> tuple[float, int]:
            return 1.0, self.outputs

    here: Any = Stub(3)
    there: Any = Stub(4)
    with pytest.raises(RuntimeError, match=r"reduce, heap: the outputs differ: \[3, 4\]"):
        operators._least(here, there, "reduce", "heap", 0)
