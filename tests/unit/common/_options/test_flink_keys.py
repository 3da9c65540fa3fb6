"""Keys of Flink's that Headrace does not know, and typing errors."""

from __future__ import annotations

import pytest

from headrace.common import Configuration
from headrace.common._options import catalogue, flink_keys
from headrace.errors import ConfigurationError


@pytest.fixture(autouse=True)
def untold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flink_keys, "_warned", set())


@pytest.mark.parametrize(
    "key",
    [
        "web.upload.dir",
        "blob.server.port",
        "execution.batch.speculative.enabled",
        "execution.state-recovery.from-local",
        "state.backend.forst.cache.dir",
        "s3.access-key",
        "fs.s3a.endpoint",
        "table.exec.rank.topn-cache-size",
        "traces.reporter.mine.factory.class",
    ],
)
def test_a_key_of_flinks_is_accepted_with_one_note(
    key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    configuration = Configuration().set_string(key, "x")
    Configuration(configuration).set_string(key, "y")
    assert configuration.get_string(key, "") == "x"
    assert capsys.readouterr().err == (
        f"headrace: {key} is a key of Flink's, and has no effect here\n"
    )


@pytest.mark.parametrize(
    ("key", "near"),
    [
        ("web.uplod.dir", "web.upload.dir"),
        ("blob.server.prot", "blob.server.port"),
        ("execution.batch.speculative.enable", "execution.batch.speculative.enabled"),
        ("pipeline.max-paralelism", "pipeline.max-parallelism"),
        ("s3.", "s3"),
    ],
)
def test_a_typing_error_is_refused(key: str, near: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ConfigurationError, match="is not a known key") as raised:
        Configuration().set_string(key, "x")
    assert key == "s3." or near in str(raised.value.hint)
    assert capsys.readouterr().err == ""


def test_a_mistake_in_a_key_of_ours_is_no_key_of_flinks(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ConfigurationError, match=r"did you mean table\.exec\.mini-batch\.enabled"):
        Configuration.from_dict({"table.exec.mini-batch.enable": "true"})
    Configuration.from_dict({"sql-client.display.color-schema": "dark"})
    assert "sql-client.display.color-schema is a key of Flink's" in capsys.readouterr().err


def test_keys_that_are_known_need_no_note(capsys: pytest.CaptureFixture[str]) -> None:
    Configuration.from_dict({"pipeline.name": "a", "taskmanager.memory.process.size": "1g"})
    assert capsys.readouterr().err == ""


def test_the_list_holds_what_we_know_of_flinks() -> None:
    names = flink_keys.names()
    assert len(names) > 1000 and {"parallelism.default", "state.backend.type"} <= names
    own = ("headrace.", "$")
    renamed = {"execution.checkpointing.externalized-checkpoint-retention"}
    flinks = {option.key for option in catalogue.OPTIONS.values() if option.key[:9] != own[0]}
    assert len(flinks & names) > 60 and renamed <= names
    assert not [name for name in names if name.startswith(own)]
