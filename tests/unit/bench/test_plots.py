"""What plots and tables of the benchmark say: names, values, which scale. Nothing is drawn."""

from __future__ import annotations

from typing import Any

import pytest

from bench import __main__, plots, report
from bench.contenders import CASES
from bench.names import short, title, words
from bench.plots import Bar


def runs(contender: str, rate: float, number: int = 0) -> list[dict[str, Any]]:
    return [
        {
            "contender": contender,
            "round": number,
            "records": records,
            "seconds": 1 + records / rate,
            "wall_seconds": 2 + records / rate,
        }
        for records in (100, 1_100)
    ]


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (0.957, "0.957"),
        (12, "12"),
        (999.4, "999"),
        (999.9, "1k"),
        (4_109, "4.11k"),
        (92_914, "92.9k"),
        (829_153, "829k"),
        (999_600, "1M"),
        (4_802_267, "4.8M"),
    ],
)
def test_numbers_are_short(number: float, said: str) -> None:
    assert short(number) == said


def test_contenders_of_a_case_have_names_of_their_own() -> None:
    for name, case in CASES.items():
        said = [words(contender, name) for contender in case.sizes]
        assert len({*said}) == len(said)
    assert words("headrace") != words("headrace", "broadcast")
    assert words("not known") == "not known"


def test_every_experiment_has_a_title() -> None:
    titles = [title(name) for name in __main__.experiments()]
    assert len({*titles}) == len(titles)


def test_bars_are_of_rounds_and_the_slowest_comes_first() -> None:
    rows = [*runs("headrace", 1_000), *runs("headrace", 3_000, 1), *runs("pyflink-thread", 50)]
    slow, fast = plots.rates({"experiment": "join", "rows": rows})
    assert (slow.name, slow.contender) == ("PyFlink, thread mode", "pyflink-thread")
    assert fast.middle == pytest.approx(2_000)
    assert plots.rates({"experiment": "join", "rows": runs("headrace", 1_000)}) == []


def test_bars_of_a_measure_are_of_the_points_that_were_asked_for() -> None:
    def row(contender: str, point: str, rate: float) -> dict[str, Any]:
        return {"contender": contender, "point": point, "values": {"rate": rate}}

    rows = [
        row("client-alone", "over HTTP, 1,000", 20),
        row("headrace-ordered", "over HTTP, 1,000", 10),
        row("headrace-ordered", "over HTTP, 1,000", 12),
        row("headrace-ordered", "a sleep", 99),
        {"contender": "headrace-ordered", "point": "over HTTP, 1,000", "failure": "broken"},
    ]
    found = plots.values({"rows": rows}, "rate", "over HTTP")
    assert [(bar.name, list(bar.values)) for bar in found] == [
        ("Headrace, local, ordered: 1,000", [10, 12]),
        ("The client alone, without Headrace: 1,000", [20]),
    ]
    (alone,) = plots.values({"rows": rows[3:]}, "rate", "a sleep")
    assert alone.name == ""


def test_the_scale_is_logarithmic_where_a_bar_would_hide_another() -> None:
    def bars(*lengths: float) -> list[Bar]:
        return [Bar("", "", [length]) for length in lengths]

    assert not plots.is_logarithmic(bars(1, 5, 20))
    assert plots.is_logarithmic(bars(1, 5, 21))
    assert not plots.is_logarithmic(bars(0, 5))


def test_tables_have_names_in_words_and_points_only_where_there_are_some() -> None:
    row = {"contender": "headrace-cold", "values": {"first_output_seconds": 9.0}}
    (without,) = report._measure([row])
    (with_points,) = report._measure([{**row, "point": "here"}])
    assert without.splitlines()[-1] == "| Headrace, cold start | 9 | 1 |"
    assert with_points.splitlines()[-1] == "| Headrace, cold start | here | 9 | 1 |"
    text = "\n".join(report._rates("join", {"rows": runs("pyflink-thread", 50)}))
    assert "| PyFlink, thread mode |" in text
