"""The metrics and labels of a reporter: filters, and labels that are removed or added."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from headrace.common._options import metric_reporters as options
from headrace.common._options.metric_reporters import ReporterSettings
from headrace.common._options.option import ConfigOption
from headrace.errors import ConfigurationError
from headrace.runners.reporters.samples import Kind, Sample

_ANY = "*"


@dataclass(frozen=True)
class _Filter:
    """One filter: ``scope:name,name:type,type``; names and types may be left out."""

    scope: re.Pattern[str]
    names: tuple[re.Pattern[str], ...]
    kinds: frozenset[Kind]

    @staticmethod
    def of(text: str) -> _Filter:
        """Return the filter of a text.

        Raises:
            ValueError: the text has more than three parts, or a type is unknown.
        """
        scope, *rest = text.split(":")
        if len(rest) > 2:
            raise ValueError(f"scope:names:types, not {text!r}")
        names = rest[0] if rest else _ANY
        kinds = rest[1] if len(rest) > 1 else _ANY
        known = {kind.value: kind for kind in Kind}
        found = [known.get(each.strip().lower()) for each in kinds.split(",")]
        if kinds.strip() == _ANY:
            found = [*Kind]
        elif None in found:
            raise ValueError(f"scope:names:types with types from {', '.join(known)}, not {kinds!r}")
        return _Filter(
            _pattern(scope),
            tuple(map(_pattern, names.split(","))),
            frozenset(kind for kind in found if kind is not None),
        )

    def matches(self, sample: Sample) -> bool:
        """Return whether a metric matches."""
        return (
            sample.kind in self.kinds
            and any(name.fullmatch(sample.name) for name in self.names)
            and self.scope.fullmatch(".".join(sample.logical_scope)) is not None
        )


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, text.strip().split(_ANY))), re.DOTALL)


class Selection:
    """Selects the metrics of one reporter, and changes their labels."""

    def __init__(self, settings: ReporterSettings) -> None:
        self._includes = _read_filters(settings, options.INCLUDES)
        self._excludes = _read_filters(settings, options.EXCLUDES)
        excluded = settings.read(options.EXCLUDED_VARIABLES)
        self._excluded = frozenset(name.strip().strip("<>") for name in excluded)
        self._additional = settings.read(options.ADDITIONAL_VARIABLES)

    def select(self, samples: Iterable[Sample]) -> list[Sample]:
        """Return the selected metrics, with their final labels."""
        return [self._relabel(sample) for sample in samples if self._is_selected(sample)]

    def _is_selected(self, sample: Sample) -> bool:
        included = any(each.matches(sample) for each in self._includes)
        return included and not any(each.matches(sample) for each in self._excludes)

    def _relabel(self, sample: Sample) -> Sample:
        if not self._excluded and not self._additional:
            return sample
        kept = {k: v for k, v in sample.variables.items() if k not in self._excluded}
        groups = tuple(
            (name, None if name in self._excluded else value) for name, value in sample.groups
        )
        return replace(sample, variables={**kept, **self._additional}, groups=groups)


def _read_filters(settings: ReporterSettings, option: ConfigOption[list[str]]) -> Sequence[_Filter]:
    try:
        return [_Filter.of(text) for text in settings.read(option)]
    except ValueError as error:
        raise ConfigurationError(
            f"{settings.key_of(option)} has an invalid filter", hint=f"it must be {error}"
        ) from None
