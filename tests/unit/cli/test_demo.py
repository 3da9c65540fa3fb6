"""``headrace demo trades`` hands its options to the demo."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import headrace.demo.trades
from headrace.cli import app


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    seen: list[dict[str, Any]] = []

    def main(**options: Any) -> int:
        seen.append(options)
        return 4

    monkeypatch.setattr(headrace.demo.trades, "main", main, raising=False)
    return seen


def test_without_options(calls: list[dict[str, Any]]) -> None:
    done = CliRunner().invoke(app, ["demo", "trades"])
    assert done.exit_code == 4
    assert calls == [
        {"input_dir": None, "output_dir": None, "events": 200_000, "seed": 1, "display": True}
    ]


def test_with_every_option(calls: list[dict[str, Any]], tmp_path: Path) -> None:
    options = ["--input", str(tmp_path), "--output", str(tmp_path / "out")]
    options += ["--events", "500", "--seed", "9", "--no-display"]
    done = CliRunner().invoke(app, ["demo", "trades", *options])
    assert done.exit_code == 4
    assert calls == [
        {
            "input_dir": tmp_path,
            "output_dir": tmp_path / "out",
            "events": 500,
            "seed": 9,
            "display": False,
        }
    ]


def test_an_input_that_is_not_there(calls: list[dict[str, Any]], tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["demo", "trades", "--input", str(tmp_path / "none")])
    assert done.exit_code == 2
    assert calls == []


def test_on_kafka(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import headrace.demo.trades.kafka

    seen: list[dict[str, Any]] = []

    def main(**options: Any) -> int:
        seen.append(options)
        return 5

    monkeypatch.setattr(headrace.demo.trades.kafka, "main", main)
    options = [
        "--kafka",
        "--rate",
        "250",
        "--events",
        "9",
        "--ab-wait",
        "500",
        "--backfill",
        "--output",
        str(tmp_path),
    ]
    done = CliRunner().invoke(app, ["demo", "trades", *options])
    assert done.exit_code == 5
    assert seen == [
        {
            "output_dir": tmp_path,
            "events": 9,
            "seed": 1,
            "rate": 250.0,
            "display": True,
            "other_wait_ms": 500,
            "backfill": True,
        }
    ]


def test_feeds_from_elsewhere_are_not_sent_to_kafka(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["demo", "trades", "--kafka", "--input", str(tmp_path)])
    assert done.exit_code == 2 and "--input" in done.output


@pytest.mark.parametrize("options", [["--backfill"], ["--ab-wait", "0"]])
def test_what_needs_kafka_is_refused_without(
    calls: list[dict[str, Any]], options: list[str]
) -> None:
    done = CliRunner().invoke(app, ["demo", "trades", *options])
    assert done.exit_code == 2 and "need --kafka" in done.output and not calls
