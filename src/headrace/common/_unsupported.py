"""Placeholders for names of PyFlink's API that do not work here.

    KafkaSource = unsupported("headrace.datastream.connectors.kafka.KafkaSource", "comes with …")

    class JobClient:
        get_job_graph = unsupported_method("there is no JVM that has one")

Importing such a name works; using it raises ``UnsupportedError`` with the reason.
"""

from __future__ import annotations

from typing import Any, NoReturn

from headrace.errors import UnsupportedError


def _refuse(name: str, reason: str) -> NoReturn:
    raise UnsupportedError(f"{name} is not supported: {reason}")


class UnsupportedClass(type):
    """The metaclass of placeholder classes: to call, subclass or read one raises."""

    _reason: str

    def __new__(
        mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any]
    ) -> UnsupportedClass:
        """Make a placeholder; to subclass one raises ``UnsupportedError``."""
        for base in bases:
            if isinstance(base, UnsupportedClass):
                _refuse(base._full_name(), base._reason)
        return super().__new__(mcs, name, bases, namespace)

    def _full_name(cls) -> str:
        return f"{cls.__module__}.{cls.__qualname__}"

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise ``UnsupportedError``."""
        _refuse(cls._full_name(), cls._reason)

    def __getattr__(cls, name: str) -> NoReturn:
        """Raise ``UnsupportedError``; for private names ``AttributeError``.

        pickle, inspect and notebooks look for private names, and expect an ``AttributeError``.
        """
        if name.startswith("_"):
            raise AttributeError(name)
        _refuse(f"{cls._full_name()}.{name}", cls._reason)

    def __getitem__(cls, item: Any) -> UnsupportedClass:
        """The placeholder itself, so that ``Name[int]`` works in an annotation."""
        return cls

    def __repr__(cls) -> str:
        return f"<unsupported {cls._full_name()}: {cls._reason}>"


class UnsupportedMethod:
    """A placeholder for a method: to call it raises ``UnsupportedError``."""

    def __init__(self, reason: str) -> None:
        self._reason = reason
        self._name = "this method"

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = f"{owner.__qualname__}.{name}"

    def __get__(self, instance: object, owner: type | None = None) -> UnsupportedMethod:
        """The placeholder itself, for methods and static methods alike."""
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise ``UnsupportedError``."""
        _refuse(self._name, self._reason)

    def __repr__(self) -> str:
        return f"<unsupported {self._name}: {self._reason}>"


def unsupported(qualified_name: str, reason: str) -> Any:
    """Return a placeholder for a class or function.

    ``qualified_name`` is its full path, ``package.module.Name``, for messages.
    """
    module, _, name = qualified_name.rpartition(".")
    return UnsupportedClass(
        name, (), {"__module__": module, "__doc__": f"Not supported: {reason}.", "_reason": reason}
    )


def unsupported_method(reason: str) -> Any:
    """Return a placeholder for a method, to be assigned in a class body."""
    return UnsupportedMethod(reason)


def is_unsupported(candidate: object) -> bool:
    """Return whether ``unsupported`` or ``unsupported_method`` made the object."""
    return isinstance(candidate, UnsupportedClass | UnsupportedMethod)


def reason_of(placeholder: object) -> str:
    """Return the reason given to ``unsupported`` for a placeholder.

    Raises:
        TypeError: the object is not a placeholder.
    """
    if isinstance(placeholder, UnsupportedClass | UnsupportedMethod):
        return placeholder._reason
    raise TypeError(f"{placeholder!r} is supported")
