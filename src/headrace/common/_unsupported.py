"""Names of PyFlink's API that do not work here, declared with the reason.

    KafkaSource = unsupported("headrace.datastream.connectors.kafka.KafkaSource", "comes with …")

    class JobClient:
        trigger_savepoint = unsupported_method("there are no savepoints")

Importing such a name is fine; using it raises ``UnsupportedError``.
"""

from __future__ import annotations

from typing import Any, NoReturn

from headrace.errors import UnsupportedError, UnsupportedModuleError

UNSUPPORTED_PACKAGES = {
    "cep": "there is no library for patterns of events (CEP)",
    "table": "there is no Table API, and no SQL",
}
"""Why packages of Flink's, by their first name below ``pyflink``, are not there."""

_ALTERNATIVES = {
    "cep": "write the pattern as a KeyedProcessFunction: its state keeps the events of a key that"
    " have matched so far, and a timer ends a match that takes too long",
    "table": "let Spark run the query and read its rows with"
    " headrace.from_dataframe(spark.sql(...)), or use windows and joins of the DataStream API",
}
"""What a program can use in place of each."""


def _refuse(name: str, reason: str) -> NoReturn:
    raise UnsupportedError(f"{name} is not supported: {reason}")


class UnsupportedClass(type):
    """The class of placeholders: calling one, subclassing one or reading a name from it raises."""

    _reason: str

    def __new__(
        mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any]
    ) -> UnsupportedClass:
        """A new placeholder; a subclass of a placeholder raises ``UnsupportedError``."""
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

        Python's own machinery (pickle, inspect, notebooks) asks for private names and expects an
        ``AttributeError`` where there are none.
        """
        if name.startswith("_"):
            raise AttributeError(name)
        _refuse(f"{cls._full_name()}.{name}", cls._reason)

    def __getitem__(cls, item: Any) -> UnsupportedClass:
        """The placeholder itself, so that ``Name[int]`` in an annotation does no harm."""
        return cls

    def __repr__(cls) -> str:
        return f"<unsupported {cls._full_name()}: {cls._reason}>"


class UnsupportedMethod:
    """A callable that raises ``UnsupportedError``, naming the class and method it stands in for."""

    def __init__(self, reason: str) -> None:
        self._reason = reason
        self._name = "this method"

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = f"{owner.__qualname__}.{name}"

    def __get__(self, instance: object, owner: type | None = None) -> UnsupportedMethod:
        """Itself: it needs no instance, and so stands in for static methods too."""
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise ``UnsupportedError``."""
        _refuse(self._name, self._reason)

    def __repr__(self) -> str:
        return f"<unsupported {self._name}: {self._reason}>"


def unsupported(qualified_name: str, reason: str) -> Any:
    """A placeholder for a class or function that does not work here.

    ``qualified_name`` is where the placeholder is bound: ``package.module.Name``.
    """
    module, _, name = qualified_name.rpartition(".")
    return UnsupportedClass(
        name, (), {"__module__": module, "__doc__": f"Not supported: {reason}.", "_reason": reason}
    )


def refuse_module(module: str) -> NoReturn:
    """Refuse the import of a package of Headrace's that stands for one of Flink's.

    Raises:
        UnsupportedModuleError: always.
    """
    name = module.rpartition(".")[2]
    raise UnsupportedModuleError(
        f"{module} is not supported: {UNSUPPORTED_PACKAGES[name]}",
        hint=_ALTERNATIVES[name],
        name=module,
    )


def unsupported_method(reason: str) -> Any:
    """A class attribute for a method that does not work here; calling it raises."""
    return UnsupportedMethod(reason)


def is_unsupported(candidate: object) -> bool:
    """True for what ``unsupported`` and ``unsupported_method`` give back."""
    return isinstance(candidate, UnsupportedClass | UnsupportedMethod)


def reason_of(placeholder: object) -> str:
    """Why a placeholder does not work.

    Raises:
        TypeError: it is not a placeholder.
    """
    if isinstance(placeholder, UnsupportedClass | UnsupportedMethod):
        return placeholder._reason
    raise TypeError(f"{placeholder!r} is supported")
