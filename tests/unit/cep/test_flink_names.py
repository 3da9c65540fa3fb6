"""Every public name of flink-cep exists in snake_case, or is refused with a reason."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import headrace.cep
from headrace.common._unsupported import is_unsupported, reason_of
from headrace.errors import UnsupportedError
from tests.walks import failures

LIST = Path(__file__).parent / "flink_names.txt"
RENAMED = {"MalformedPatternException": "MalformedPatternError", "or": "or_"}


def names() -> Iterator[tuple[str, str | None]]:
    """Classes, with None, and their members."""
    for line in LIST.read_text("utf-8").splitlines():
        if line.startswith("#"):
            continue
        owner, *members = line.split()
        yield owner, None
        for member in members:
            yield owner, member


def in_python(member: str) -> str:
    if member.isupper() or member[0].isupper():
        return member
    return RENAMED.get(member, re.sub("([A-Z])", lambda found: "_" + found[1].lower(), member))


def found(owner: str, member: str | None) -> Any:
    here: Any = headrace.cep
    for part in owner.split("."):
        here = getattr(here, RENAMED.get(part, part))
        if is_unsupported(here):
            return here
    return here if member is None else getattr(here, in_python(member))


def test_names_of_flink_are_here() -> None:
    listed = [*names()]
    assert len(listed) > 120 and failures(check_name, listed) == {}


def check_name(name: tuple[str, str | None]) -> None:
    here = found(*name)
    assert here is not None
    if is_unsupported(here):
        assert len(reason_of(here)) > 10
        with pytest.raises(UnsupportedError, match=re.escape(reason_of(here))):
            here()


def test_only_what_has_another_way_is_refused() -> None:
    refused = {
        f"{owner}.{member}" for owner, member in names() if is_unsupported(found(owner, member))
    }
    assert {each.partition(".")[0] for each in refused} == {
        "AfterMatchSkipStrategy",
        "BooleanConditions",
        "Pattern",
        "Quantifier",
        "RichAndCondition",
        "RichCompositeIterativeCondition",
        "RichNotCondition",
        "RichOrCondition",
    }
    assert {each for each in refused if each.startswith(("Pattern.", "AfterMatch"))} == {
        "AfterMatchSkipStrategy.prune",
        "Pattern.getCondition",
        "Pattern.getQuantifier",
        "Pattern.getTimes",
        "Pattern.getUntilCondition",
    }


def test_every_class_of_the_package_is_flinks_or_ours() -> None:
    flinks = {RENAMED.get(owner, owner) for owner, _ in names()}
    ours = set(headrace.cep.__all__) - flinks
    assert "Overflow" in ours
    assert ours <= {"Overflow", "DynamicPatternStream", "PatternRegistry", "pattern_from"}
