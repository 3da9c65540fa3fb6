"""Passwords are not shown."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest

from headrace.errors import ConfigurationError
from headrace.runners.ui.failures import show_failure
from headrace.runners.ui.secrets import hide_in_text, hide_in_value


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("jdbc:postgresql://db/shop?user=ann&password=x%y&ssl=on", "password=******&ssl=on"),
        (
            "url=jdbc:postgresql://db/shop?password=x%y",
            "url=jdbc:postgresql://db/shop?password=******",
        ),
        ("host=db user=ann passwd='x y' dbname=shop", "passwd=****** dbname=shop"),
        ("Endpoint=sb://a/;SharedAccessKey=a+b/c==;EntityPath=e", "AccessKey=******;EntityPath=e"),
        ('{"db.Secret": "x, y", "region": "eu"}', '"db.Secret": ******, "region": "eu"}'),
        ("no words that hide anything: 5", "no words that hide anything: 5"),
    ],
)
def test_values_of_names_like_passwords_are_hidden_in_values(given: str, shown: str) -> None:
    found = hide_in_value(given)
    assert found.endswith(shown) and not re.search("x.?y|a.b/c", found)


@pytest.mark.parametrize("part", ["a", "key", "key ", "key=", "//a:", "@", "'", "  ", "a:b@"])
@pytest.mark.parametrize("hide", [hide_in_value, hide_in_text])
def test_a_long_text_is_no_work(hide: Callable[[str], str], part: str) -> None:
    began_s = time.perf_counter()
    hide(part * 30_000)
    assert time.perf_counter() - began_s < 5


def connect(url: str, password: str) -> None:
    raise ConfigurationError(f"{url} is refused", hint="see postgresql://ann:xyz@db/shop")


def test_passwords_in_lines_of_a_program_are_hidden_without_the_token() -> None:
    try:
        connect("amqp://ann:xyz@queue:5672", password="xyz")
    except ConfigurationError as error:
        masked, full = show_failure(error, False), show_failure(error, True)
    assert "amqp://ann:******@queue:5672 is refused" in masked.message
    assert 'connect("amqp://ann:******@queue:5672", password=******)' in masked.stacktrace
    assert "xyz" not in f"{masked}" and "xyz" in full.message


def test_lines_without_literals_stay_as_they_are() -> None:
    line = "key = self.tokens[key]  # see https://docs/a:b and mail@host"
    assert hide_in_text(line) == line
