"""The statements that Flink was asked about."""

from __future__ import annotations

from pathlib import Path

import pytest

RECORDED = Path(__file__).with_name("flink_2_3_grammar.txt")


def verdicts() -> dict[str, tuple[bool, bool]]:
    """Return for each statement whether Flink's parser reads it, and whether Headrace's does."""
    found = {}
    for line in RECORDED.read_text().splitlines():
        verdict, _, text = line.partition("\t")
        flink = verdict.startswith("reads")
        found[text] = flink, flink is not verdict.endswith("not here")
    return found


@pytest.fixture(scope="session")
def recorded() -> dict[str, tuple[bool, bool]]:
    """Statements, with whether Flink reads them and whether Headrace does."""
    return verdicts()


@pytest.fixture(scope="session")
def accepted(recorded: dict[str, tuple[bool, bool]]) -> list[str]:
    """Statements that both read."""
    return [text for text, (flink, here) in recorded.items() if flink and here]
