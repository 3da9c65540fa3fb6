"""The seal: any change of an object's bytes is an error that names the object."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace import __version__
from headrace.common._storage.memory_store import MemoryStore
from headrace.common._storage.sealed import (
    ObjectFormat,
    Unsealed,
    get_json,
    put_json,
    seal,
    unseal,
)
from headrace.errors import CheckpointError

STATES = ObjectFormat("split states", version=3, oldest=2)


@given(st.binary(max_size=40))
def test_gives_back_what_was_sealed(payload: bytes) -> None:
    assert unseal(STATES, seal(STATES, payload), "here") == Unsealed(3, payload)


@given(st.binary(max_size=20), st.data())
def test_no_damage_passes(payload: bytes, data: st.DataObject) -> None:
    whole = seal(STATES, payload)
    at = data.draw(st.integers(0, len(whole) - 1))
    flipped = bytearray(whole)
    flipped[at] ^= 1 << data.draw(st.integers(0, 7))
    for damaged in (whole[:at], bytes(flipped), whole + b"x", whole[1:], b"\0" * len(whole)):
        with pytest.raises(CheckpointError) as caught:
            unseal(STATES, damaged, "/checkpoint/splits/7")
        assert caught.value.where == {"object": "/checkpoint/splits/7"}
        assert "start anew" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("damaged", "said"),
    [
        (b"", "is empty"),
        (b"headr", "is cut short"),
        (seal(STATES, b"12345")[:-2], "is cut short: 3 of 5 bytes are there"),
        (seal(STATES, b"12345")[:90], "is cut short"),
        (seal(STATES, b"12345") + b"6", "is damaged: its checksum is wrong"),
        (b'{"fingerprint": 1}', "was not written by Headrace"),
        (b"headrace 9 ...", "a header that this version does not know"),
        (seal(ObjectFormat("job"), b"x"), "is a 'job', not a 'split states'"),
    ],
)
def test_says_what_is_the_matter(damaged: bytes, said: str) -> None:
    with pytest.raises(CheckpointError) as caught:
        unseal(STATES, damaged, "here")
    assert said in caught.value.message


@pytest.mark.parametrize("version", [1, 4])
def test_another_version_is_reported_with_who_wrote_it(version: int) -> None:
    written = seal(ObjectFormat("split states", version), b"x")
    with pytest.raises(CheckpointError) as caught:
        unseal(STATES, written, "here")
    assert caught.value.message == (
        f"version {version} of the format 'split states', written by Headrace {__version__},"
        f" cannot be read by Headrace {__version__}, which reads 2 to 3"
    )
    older = unseal(STATES, seal(ObjectFormat("split states", 2), b"x"), "here")
    assert older == Unsealed(2, b"x")


def test_people_can_read_it() -> None:
    store, job = MemoryStore(), ObjectFormat("job")
    assert get_json(store, "job", job) is None
    put_json(store, "job", job, {"name": "café"})
    text = (store.get("job") or b"").decode()
    header, _, payload = text.partition("\n")
    assert header.startswith("headrace 1 ") and '"format": "job"' in header
    assert "café" in payload and json.loads(payload) == {"name": "café"}
    assert get_json(store, "job", job) == {"name": "café"}
