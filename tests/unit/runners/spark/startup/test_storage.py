"""New delegation tokens of the driver's user are noticed, but not looked for all the time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from headrace.common._storage.locations import StorageAccess
from headrace.runners.spark.startup.storage import TokenWatch


class Texts:
    """What has a text in Java."""

    def __init__(self, text: str) -> None:
        self._text = text

    def toString(self) -> str:
        return self._text


class User:
    """The user of a driver, with tokens by service; ``looks`` counts how often they were read."""

    def __init__(self, tokens: dict[str, str]) -> None:
        self.tokens, self.looks = tokens, 0

    def getCredentials(self) -> Any:
        self.looks += 1
        found = [("HDFS_DELEGATION_TOKEN", *each) for each in self.tokens.items()]
        found.append(("YARN_AM_RM_TOKEN", "rm", "other"))
        tokens = [
            SimpleNamespace(
                getKind=lambda kind=kind: Texts(kind),
                getService=lambda service=service: Texts(service),
                encodeToUrlString=lambda token=token: token,
            )
            for kind, service, token in found
        ]
        return SimpleNamespace(getAllTokens=lambda: SimpleNamespace(toArray=lambda: tokens))


def session_of(user: User) -> Any:
    security = SimpleNamespace(
        UserGroupInformation=SimpleNamespace(getCurrentUser=lambda: user),
    )
    hadoop = SimpleNamespace(security=security)
    return SimpleNamespace(
        _jvm=SimpleNamespace(org=SimpleNamespace(apache=SimpleNamespace(hadoop=hadoop)))
    )


@pytest.fixture
def clock() -> list[float]:
    return [100.0]


def test_new_tokens_are_noticed_at_the_next_look(clock: list[float]) -> None:
    user = User({"10.0.0.1:8020": "first"})
    access = StorageAccess(tokens={"10.0.0.1:8020": "first"})
    watch = TokenWatch(session_of(user), access, lambda: clock[0])
    clock[0] += 11
    assert not watch.has_new_tokens()
    user.tokens = {"10.0.0.1:8020": "second"}
    clock[0] += 5
    assert not watch.has_new_tokens()
    assert user.looks == 1
    clock[0] += 6
    assert watch.has_new_tokens()


def test_without_tokens_nothing_is_looked_at(clock: list[float]) -> None:
    user = User({"10.0.0.1:8020": "of another job"})
    watch = TokenWatch(session_of(user), StorageAccess(), lambda: clock[0])
    clock[0] += 1000
    assert not watch.has_new_tokens()
    assert user.looks == 0
