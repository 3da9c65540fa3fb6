"""Classes that are pickled with a program, so that workers can find them by name.

cloudpickle pickles a class completely if it is from the driver's script, or from a module that
workers cannot import. Records, keys and state are pickled without cloudpickle, for speed: they only
name their class. So a program carries such classes with their names, and loading it puts them where
pickle looks for them.
"""

from __future__ import annotations

import dataclasses
import importlib
import io
import os
import pickle
import sys
from collections.abc import Callable
from types import CodeType, ModuleType, SimpleNamespace
from typing import Any

import cloudpickle

from headrace.connector import KeepsSecrets

ClassesByName = dict[tuple[str, str], type]
"""Classes by module and qualified name."""

_loaded: ClassesByName = {}
"""The classes of the ``loads`` call in progress."""

_missing: list[str] = []
"""The secrets that the ``loads`` call in progress did not find in the environment."""

_FULL_CLASS_PARTS = 6
"""The size of the tuple to which cloudpickle reduces a complete class; it is 2 for a class by name.
"""


def dumps(value: Any, used_by: Any = None, *, secrets: bool = True) -> bytes:
    """Pickle a value with cloudpickle, together with the classes that it needs.

    The classes of ``used_by`` are added, but not ``used_by`` itself. ``secrets`` False: passwords
    in ``KeepsSecrets`` objects are left out; loading takes them from environment variables.
    """
    used_by_pickler = _Pickler(io.BytesIO(), protocol=5)
    used_by_pickler.dump(used_by)
    out = io.BytesIO()
    pickler = _Pickler(out, protocol=5)
    pickler.secrets = secrets
    pickler.dump((value, used_by_pickler.classes))
    return out.getvalue()


def loads(data: bytes) -> tuple[Any, ClassesByName]:
    """Load a value and register its classes. Return both."""
    _loaded.clear()
    _missing.clear()
    value, _ = pickle.loads(data)
    return value, dict(_loaded)


def missing_secrets() -> list[str]:
    """Return the environment variables that the last ``loads`` lacked, and what needs them."""
    return [*_missing]


def register_classes(names: ClassesByName) -> None:
    """Register classes where pickle looks for them, instead of classes of the same names."""
    for (module, name), class_ in names.items():
        _set_class(module, name, class_)


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]  # cloudpickle has no types
    def __init__(self, file: io.BytesIO, protocol: int) -> None:
        super().__init__(file, protocol=protocol)
        self.classes: list[type] = []
        """The classes that were pickled completely."""
        self.secrets = True

    def reducer_override(self, obj: Any) -> Any:
        if obj is dataclasses.MISSING:  # fields without a default are found by its identity
            return "MISSING"
        if isinstance(obj, KeepsSecrets) and not self.secrets and obj.secrets:
            return _restore_secrets, (obj.with_secrets({}), tuple(obj.secrets))
        if isinstance(obj, CodeType):
            make, arguments = self.dispatch_table[CodeType](obj)
            return _make_code, (make, arguments, obj.co_filename)
        reduced = super().reducer_override(obj)
        if not (isinstance(obj, type) and isinstance(reduced, tuple)):
            return reduced
        if len(reduced) < _FULL_CLASS_PARTS:
            return reduced
        self.classes.append(obj)
        make, arguments, *rest = reduced
        return _make_class, (make, arguments, obj.__module__, obj.__qualname__), *rest


def _make_code(make: Callable[..., CodeType], arguments: tuple[Any, ...], file: str) -> CodeType:
    """Create a code object; called by pickle when loading.

    From 3.1.3 on, cloudpickle leaves its file out, without which a traceback shows no lines.
    """
    return make(*arguments).replace(co_filename=file)


def _restore_secrets(bare: KeepsSecrets, variables: tuple[str, ...]) -> KeepsSecrets:
    """Add the secrets from the environment; called by pickle when loading."""
    secrets = {name: os.environ[name] for name in variables if name in os.environ}
    _missing.extend(f"{name}, for {bare!r}" for name in variables if name not in secrets)
    return bare.with_secrets(secrets) if secrets else bare


def _make_class(
    make: Callable[..., type], arguments: tuple[Any, ...], module: str, name: str
) -> type:
    """Create a class; called by pickle when loading.

    A class defined in a function is not registered: it has no importable name.
    """
    class_ = make(*arguments)
    class_.__qualname__ = name  # cloudpickle keeps the last part only
    if "<locals>" not in name:
        _loaded[module, name] = class_
        _set_class(module, name, class_)
    return class_


def _set_class(module_name: str, name: str, class_: type) -> None:
    *path, last = name.split(".")
    holder: Any = _get_module(module_name)
    for part in path:
        if not hasattr(holder, part):
            setattr(holder, part, SimpleNamespace())
        holder = getattr(holder, part)
    if getattr(holder, last, None) is class_:
        return
    if path or isinstance(holder, _ModuleStandIn) or not hasattr(holder, last):
        setattr(holder, last, class_)


class _ModuleStandIn(ModuleType):
    """Stands for the driver's script, or for a module that is missing here.

    In a process with a script of its own, names that are not found are looked up in that script.
    """

    def __init__(self, name: str, real: ModuleType | None) -> None:
        super().__init__(name)
        self._real = real
        if real is not None:
            self.__spec__ = real.__spec__

    def __getattr__(self, name: str) -> Any:
        if self._real is None:
            raise AttributeError(f"{name} of {self.__name__} did not travel with the program")
        return getattr(self._real, name)


def _get_module(name: str) -> ModuleType:
    module = sys.modules.get(name)
    if module is None or (name == "__main__" and not isinstance(module, _ModuleStandIn)):
        sys.modules[name] = module = _ModuleStandIn(name, module)
        _ensure_package(name.partition(".")[0])
    return module


def _ensure_package(name: str) -> None:
    """Import the parent package, as pickle needs it; if it is missing, register a stand-in."""
    if name not in sys.modules:
        try:
            importlib.import_module(name)
        except ImportError:
            sys.modules[name] = _ModuleStandIn(name, None)
