"""Passwords in lines of a program are not shown."""

from __future__ import annotations

import time

import pytest

from headrace.runners.ui.failures import show_failure
from headrace.runners.ui.program_secrets import hide_in_program


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ('password = "xyzzy"', "password = ******"),
        ('password: str = "xyzzy"', "password: str = ******"),
        ('self.db_password: Final[str] = b"xyzzy"', "self.db_password: Final[str] = ******"),
        ("def f(token: str | None = 'xyzzy', user='ann'):", "= ******, user='ann'):"),
        ('connect("ann", password="xyzzy", host="db")', ', password=******, host="db")'),
        ('{"user": "ann", "password": "xyzzy"}', '{"user": "ann", "password": ******}'),
        ('options["password"] = "xyzzy"', 'options["password"] = ******'),
        ('reader.option("password", "xyzzy").option("a", "b")', '******).option("a", "b")'),
        ('if (token := "xyzzy") == "a": print("b")', '== "a": print("b")'),
        ('if password == "xyzzy": print("b")', 'if password == ******: print("b")'),
        ('if password != "xyzzy" and a == "b":', "if password != ****** and a == ******:"),
        ('user, password = "ann", "xyzzy"', "user, password = ******, ******"),
        ('password = "a\\"xyzzy"', "password = ******"),
        ('password = """xyzzy"""', "password = ******"),
        ('password = """xyzzy', "password = ******"),
        ('password = "xyzzy\\', "password = ******"),
        ('password = "x" "yzzy" + \'xyzzy\'', "password = ****** ****** + ******"),
        ('secret = b64decode("xyzzy").decode()', "secret = b64decode(******).decode()"),
        ('password = os.environ["DB_PASSWORD"]', 'password = os.environ["DB_PASSWORD"]'),
        ('headers = {"Authorization": "xyzzy"}', "headers = {******: ******}"),
        ('dsn = "host=db password=xyzzy user=ann"', '"host=db password=****** user=ann"'),
        ('dsn = f"password={password} user={user}"', 'f"password={password} user={user}"'),
        ('url = "jdbc:x://db?password=xyzzy&ssl=on"', '?password=******&ssl=on"'),
        ('f"{connect(password="xyzzy")}"', "************"),
        ('f"postgresql://{user}:{password}@db"', 'f"postgresql://{user}:******@db"'),
        ('login("password=" + "xyzzy")', 'login("password=" + ******)'),
        ('password="xyzzy",', "password=******,"),
        ('x = 1  # password: "xyzzy"', "x = 1  # password: ******"),
        ("connect(password=\n    'xyzzy',\n    user='ann')", "\n    ******,\n    user='ann')"),
    ],
)
def test_values_of_names_like_passwords_are_hidden(code: str, shown: str) -> None:
    found = hide_in_program(code)
    assert found.endswith(shown) and "yzzy" not in found


@pytest.mark.parametrize(
    "code",
    [
        "key = self.tokens[key]  # see https://docs/a:b and mail@host",
        'rows = sorted(rows, key=lambda row: row["ts"])',
        'raise ValueError(f"unknown key: {key!r}")',
        'raise ValueError("unknown key: %s" % key)',
        'for key in rows: print("each")',
        'if not token: return "none"',
        'return {"region": "eu", "name": name}',
        '  File "/jobs/shop.py", line 3, in connect\n    connect(user="ann")\n',
        'user, name = "ann", "Ann"',
    ],
)
def test_other_lines_stay_as_they_are(code: str) -> None:
    assert hide_in_program(code) == code


@pytest.mark.parametrize(
    "part", ["a", "a,", "key=", "key='", '"', "'", '"""', "(", "key=\n", "\n", "  ", "//a:", "a:b@"]
)
def test_a_long_line_is_no_work(part: str) -> None:
    began_s = time.perf_counter()
    hide_in_program(part * 30_000)
    assert time.perf_counter() - began_s < 5


def test_a_failure_shows_no_password_that_is_annotated() -> None:
    try:
        password: str = "xyzzy" + str(1 // 0)
        raise AssertionError(password)
    except ZeroDivisionError as error:
        masked, full = show_failure(error, False), show_failure(error, True)
    assert masked.source == "password: str = ****** + str(1 // 0)"
    assert "xyzzy" in full.source and "xyzzy" in full.stacktrace
    assert "xyzzy" not in f"{masked}" and "password: str = ******" in masked.stacktrace
