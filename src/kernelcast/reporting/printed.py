"""Answers of the library that print themselves and turn into plain dictionaries."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from msgspec import Struct

from kernelcast.exploration.advice import LaunchAdvice
from kernelcast.exploration.dvfs import ClockCurve
from kernelcast.exploration.explored import Exploration
from kernelcast.exploration.gains import WhatIf
from kernelcast.exploration.occupancy_curve import OccupancyCurve
from kernelcast.exploration.offload import Offload
from kernelcast.models.terms.base import Prediction
from kernelcast.reporting.console import plain_text
from kernelcast.reporting.documents.advise import advice_result, advise_document
from kernelcast.reporting.documents.base import as_json
from kernelcast.reporting.documents.dvfs import clock_result, dvfs_document
from kernelcast.reporting.documents.explain import explain_document
from kernelcast.reporting.documents.explore import explore_document
from kernelcast.reporting.documents.occupancy_curve import curve_document, curve_result
from kernelcast.reporting.documents.offload import offload_document, offload_result
from kernelcast.reporting.documents.predict import predict_document
from kernelcast.reporting.documents.result import result
from kernelcast.reporting.documents.what_if import what_if_document, what_if_result
from kernelcast.reporting.text import view
from kernelcast.reporting.text.result import render_result


@dataclass(frozen=True)
class Forecast(Prediction):
    """A prediction whose text is the full report and which turns into a plain dictionary."""

    @classmethod
    def of(cls, prediction: Prediction) -> Forecast:
        """The same prediction as a forecast."""
        return cls(**{f.name: getattr(prediction, f.name) for f in fields(Prediction)})

    def __str__(self) -> str:
        return plain_text(render_result(result(self)))

    def _repr_html_(self) -> str:
        return _fragment(explain_document(self))

    def as_dict(self) -> dict[str, Any]:
        """The result as `predict --json` gives it."""
        return as_json(result(self))


class SideBySide(tuple[Forecast, ...]):
    """Forecasts side by side, of GPUs, models or launches, whose text is their comparison."""

    __slots__ = ()

    def __str__(self) -> str:
        return plain_text(view(predict_document(self)))

    def _repr_html_(self) -> str:
        return _fragment(predict_document(self))

    def as_dict(self) -> dict[str, Any]:
        """The results as `predict --json` gives them."""
        return as_json(predict_document(self))


@dataclass(frozen=True)
class Explanation(Prediction):
    """A prediction whose text goes down to the single instruction."""

    @classmethod
    def of(cls, prediction: Prediction) -> Explanation:
        """The same prediction as an explanation."""
        return cls(**{f.name: getattr(prediction, f.name) for f in fields(Prediction)})

    def __str__(self) -> str:
        return plain_text(view(explain_document(self)))

    def _repr_html_(self) -> str:
        return _fragment(explain_document(self))

    def as_dict(self) -> dict[str, Any]:
        """The result as `explain --json` gives it."""
        return as_json(explain_document(self))


@dataclass(frozen=True)
class Curve(OccupancyCurve):
    """An occupancy curve whose text is the full report and which turns into a plain dictionary."""

    @classmethod
    def of(cls, curve: OccupancyCurve) -> Curve:
        """The same curve, ready to be printed."""
        return cls(**{f.name: getattr(curve, f.name) for f in fields(OccupancyCurve)})

    def __str__(self) -> str:
        return plain_text(view(curve_document([self])))

    def _repr_html_(self) -> str:
        return _fragment(curve_document([self]))

    def as_dict(self) -> dict[str, Any]:
        """The result as `occupancy-curve --json` gives it."""
        return as_json(curve_result(self))


@dataclass(frozen=True)
class Advised(LaunchAdvice):
    """Advice whose text is the full report and which turns into a plain dictionary."""

    @classmethod
    def of(cls, found: LaunchAdvice) -> Advised:
        """The same advice, ready to be printed."""
        return cls(**{f.name: getattr(found, f.name) for f in fields(LaunchAdvice)})

    def __str__(self) -> str:
        return plain_text(view(advise_document([self])))

    def as_dict(self) -> dict[str, Any]:
        """The result as `advise --json` gives it."""
        return as_json(advice_result(self))


_SHOWN = 10


@dataclass(frozen=True)
class Explored(Exploration):
    """An exploration whose text is the full report and which turns into a plain dictionary."""

    @classmethod
    def of(cls, exploration: Exploration) -> Explored:
        """The same exploration, ready to be printed."""
        return cls(**{f.name: getattr(exploration, f.name) for f in fields(Exploration)})

    def __str__(self) -> str:
        return plain_text(view(explore_document(self, _SHOWN)))

    def _repr_html_(self) -> str:
        return _fragment(explore_document(self, _SHOWN))

    def as_dict(self, top: int = _SHOWN) -> dict[str, Any]:
        """The result as `explore --json` gives it."""
        return as_json(explore_document(self, top))


@dataclass(frozen=True)
class Clocks(ClockCurve):
    """A curve over clocks whose text is the full report and which turns into a dictionary."""

    @classmethod
    def of(cls, curve: ClockCurve) -> Clocks:
        """The same curve, ready to be printed."""
        return cls(**{f.name: getattr(curve, f.name) for f in fields(ClockCurve)})

    def __str__(self) -> str:
        return plain_text(view(dvfs_document([self])))

    def _repr_html_(self) -> str:
        return _fragment(dvfs_document([self]))

    def as_dict(self) -> dict[str, Any]:
        """The result as `dvfs --json` gives it."""
        return as_json(clock_result(self))


@dataclass(frozen=True)
class Worth(Offload):
    """Loops on CPU and GPUs, whose text is the full report and which turns into a dictionary."""

    @classmethod
    def of(cls, found: Offload) -> Worth:
        """The same answer, ready to be printed."""
        return cls(**{f.name: getattr(found, f.name) for f in fields(Offload)})

    def __str__(self) -> str:
        return plain_text(view(offload_document([self])))

    def _repr_html_(self) -> str:
        return _fragment(offload_document([self]))

    def as_dict(self) -> dict[str, Any]:
        """The result as `offload --json` gives it."""
        return as_json(offload_result(self))


@dataclass(frozen=True)
class Costs(WhatIf):
    """What bottlenecks cost, whose text is the full report and which turns into a dictionary."""

    @classmethod
    def of(cls, found: WhatIf) -> Costs:
        """The same costs, ready to be printed."""
        return cls(**{f.name: getattr(found, f.name) for f in fields(WhatIf)})

    def __str__(self) -> str:
        return plain_text(view(what_if_document([self])))

    def _repr_html_(self) -> str:
        return _fragment(what_if_document([self]))

    def as_dict(self) -> dict[str, Any]:
        """The result as `what-if --json` gives it."""
        return as_json(what_if_result(self))


def _fragment(document: Struct) -> str:
    """What a notebook shows of a document; pages are loaded where one is shown only."""
    from kernelcast.reporting.html import fragment

    return fragment(document)
