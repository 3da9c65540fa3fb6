import pickle
from typing import get_type_hints

import pytest

from headrace.common._unsupported import is_unsupported, reason_of, unsupported, unsupported_method
from headrace.errors import UnsupportedError

Source = unsupported(f"{__name__}.Source", "it needs a jar")


class Client:
    savepoint = unsupported_method("not written yet")

    def status(self) -> str:
        return "fine"


class Derived(Client):
    pass


@pytest.mark.parametrize(
    "use",
    [
        lambda: Source(),
        lambda: Source("topic", group="g"),
        lambda: Source.builder(),
        lambda: Source.builder,
        lambda: Source.EARLIEST,
        lambda: type("Mine", (Source,), {}),
    ],
)
def test_every_use_of_a_placeholder_raises_with_name_and_reason(use):
    with pytest.raises(UnsupportedError, match=r"Source.* is not supported: it needs a jar"):
        use()


def test_the_attribute_is_named():
    with pytest.raises(UnsupportedError, match=r"test_unsupported\.Source\.builder"):
        Source.builder()


def test_a_placeholder_does_no_harm_until_it_is_used():
    def annotated(source: Source, sources: "list[Source[int]]") -> None: ...

    assert get_type_hints(annotated, {"Source": Source})["source"] is Source
    assert not isinstance(3, Source)
    assert not hasattr(Source, "_private")
    assert "it needs a jar" in repr(Source)
    assert "it needs a jar" in Source.__doc__


def test_private_names_are_missing_in_the_usual_way():
    with pytest.raises(AttributeError):
        _ = Source.__wrapped__


def test_placeholders_are_recognised():
    assert is_unsupported(Source)
    assert is_unsupported(Client.savepoint)
    assert is_unsupported(Client().savepoint)
    assert not is_unsupported(Client)
    assert not is_unsupported(Client.status)
    assert reason_of(Source) == "it needs a jar"
    assert reason_of(Client.savepoint) == "not written yet"
    with pytest.raises(TypeError):
        reason_of(Client)


@pytest.mark.parametrize("owner", [Client, Client(), Derived, Derived()])
def test_an_unsupported_method_names_its_class(owner):
    with pytest.raises(UnsupportedError, match=r"Client\.savepoint is not supported: not written"):
        owner.savepoint("directory", advance=True)


def test_the_error_is_what_a_caller_expects_and_pickles():
    with pytest.raises(NotImplementedError) as caught:
        Source()
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
