"""SET and RESET in a session."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common.configuration import Configuration
from headrace.errors import ConfigurationError, SqlValidationError
from headrace.table._planning.settings import SessionSettings

TTL, ZONE = "table.exec.state.ttl", "table.local-time-zone"


@pytest.fixture
def configuration() -> Configuration:
    return Configuration.from_dict({TTL: "1 h", "execution.runtime-mode": "STREAMING"})


@pytest.fixture
def settings(configuration: Configuration) -> SessionSettings:
    return SessionSettings(configuration)


def shown(settings: SessionSettings) -> dict[str, Any]:
    with settings.show().collect() as rows:
        return {key: value for key, value in rows}


def test_options_that_are_set_are_shown_by_key(settings: SessionSettings) -> None:
    settings.set(ZONE, "Asia/Tokyo")
    assert [*shown(settings).items()] == [
        ("execution.runtime-mode", "STREAMING"),
        (TTL, "1 h"),
        (ZONE, "Asia/Tokyo"),
    ]


def test_an_option_is_reset_to_what_it_was(
    settings: SessionSettings, configuration: Configuration
) -> None:
    settings.set(TTL, "2 h")
    settings.set(ZONE, "Asia/Tokyo")
    settings.reset(TTL)
    assert shown(settings)[TTL] == "1 h" and ZONE in shown(settings)
    settings.reset(ZONE)
    assert not configuration.contains_key(ZONE)


def test_all_options_are_reset_also_those_that_were_removed(
    settings: SessionSettings, configuration: Configuration
) -> None:
    before = shown(settings)
    settings.set(ZONE, "Asia/Tokyo")
    configuration.remove_config(TTL)
    settings.reset(None)
    assert shown(settings) == before


def test_the_mode_of_an_environment_is_fixed(settings: SessionSettings) -> None:
    settings.set("execution.runtime-mode", "streaming")
    with pytest.raises(SqlValidationError, match="this one is STREAMING"):
        settings.set("execution.runtime-mode", "batch")
    with pytest.raises(SqlValidationError, match="cannot be AUTOMATIC"):
        settings.set("execution.runtime-mode", "automatic")


def test_a_shell_changes_its_mode(settings: SessionSettings, configuration: Configuration) -> None:
    settings.fixed_mode = False
    settings.set("execution.runtime-mode", "batch")
    assert configuration.to_dict()["execution.runtime-mode"] == "batch"


@pytest.mark.parametrize(("key", "value"), [(TTL, "soon"), ("execution.no-such-option", "1")])
def test_a_wrong_option_changes_nothing(settings: SessionSettings, key: str, value: str) -> None:
    before = shown(settings)
    with pytest.raises(ConfigurationError, match=key):
        settings.set(key, value)
    assert shown(settings) == before
