"""What `predict` answers, and `compare` of one file: results, and what they say together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from msgspec import Struct

from kernelcast.ir import CopyPlan
from kernelcast.models.terms.base import Bottleneck, Prediction
from kernelcast.models.terms.parameters import model_label
from kernelcast.reporting.documents.base import NotNegative, Positive, json_schema
from kernelcast.reporting.documents.end_to_end import EndToEndTime, end_to_end_time
from kernelcast.reporting.documents.result import Result, launch_title, result
from kernelcast.version import VERSION

_SCHEMA: Literal["kernelcast/predict/1"] = "kernelcast/predict/1"


class Total(Struct, frozen=True):
    """The time of all launches of a workload, repeats included, on one GPU by one model."""

    gpu: str
    model: str
    total_time_s: NotNegative
    model_label: str


class Warned(Struct, frozen=True):
    """A warning, and the GPUs whose results carry it."""

    text: str
    gpus: list[str]


class Overview(Struct, frozen=True):
    """What several results say together.

    `launches` counts those of a workload on one GPU by one model, repeats included; null for one
    launch that runs once. `gpus_by_time` are by rising time of all launches, by the first model,
    and `lead` is the time of the second over that of the first. `low_s` to `high_s` is the time of
    all launches over GPUs and models, `bottlenecks` what binds on the fastest GPU by the first
    model, or by any where there is one GPU, by falling time. `of_fastest` has for every result its
    time over that of the fastest GPU for the same launch by the same model; null where that is 0.
    """

    launches: Positive | None
    gpus_by_time: list[str]
    fastest_s: NotNegative
    lead: NotNegative | None
    low_s: NotNegative
    high_s: NotNegative
    bottlenecks: list[Bottleneck]
    of_fastest: list[NotNegative | None]
    warnings: list[Warned]


class PredictDocument(Struct, frozen=True, omit_defaults=True):
    """All that `predict --json` prints.

    `totals` is there for workloads (several launches, or repeats); `total_time_s` as well where
    they are on one GPU by one model; `overview` where there are several results; `end_to_end` where
    copies between host and device are asked for.
    """

    schema: Literal["kernelcast/predict/1"]
    kernelcast: str
    results: list[Result]
    totals: list[Total] = []
    total_time_s: NotNegative | None = None
    overview: Overview | None = None
    end_to_end: list[EndToEndTime] = []


def predict_document(
    predictions: Sequence[Prediction], copies: CopyPlan | None = None
) -> PredictDocument:
    """The document of any number of launches, GPUs and models, with copies where a plan is given.

    Raises NotFoundError and MissingNumberError as `models.terms.transfers` does.
    """
    sums = _totals(predictions) if _is_workload(predictions) else []
    return PredictDocument(
        schema=_SCHEMA,
        kernelcast=VERSION,
        results=[result(p) for p in predictions],
        totals=sums,
        total_time_s=sums[0].total_time_s if len(sums) == 1 else None,
        overview=overview(predictions) if len(predictions) > 1 else None,
        end_to_end=[] if copies is None else _end_to_end(predictions, copies),
    )


def _end_to_end(predictions: Sequence[Prediction], plan: CopyPlan) -> list[EndToEndTime]:
    """The programs, one for each GPU and model."""
    return [
        end_to_end_time(
            [p.case for p in predictions if _answer(p) == (gpu, by)], by, kernel_s, plan
        )
        for (gpu, by), kernel_s in total_times(predictions).items()
    ]


def predict_schema() -> dict[str, Any]:
    """The JSON Schema of `predict --json`."""
    return json_schema(PredictDocument, _SCHEMA, "kernelcast predict --json")


def _is_workload(predictions: Sequence[Prediction]) -> bool:
    """Whether there are several launches, or one that is repeated."""
    answers = set(map(_answer, predictions))
    return len(answers) < len(predictions) or any(p.case.launch.repeat > 1 for p in predictions)


def total_times(predictions: Sequence[Prediction]) -> dict[tuple[str, str], float]:
    """Seconds of all launches, repeats included, by GPU and the model's label, in their order."""
    sums: dict[tuple[str, str], float] = {}
    for p in predictions:
        sums[_answer(p)] = sums.get(_answer(p), 0.0) + _time(p)
    return sums


def overview(predictions: Sequence[Prediction]) -> Overview:
    """What several predictions say together."""
    times = total_times(predictions)
    _, model = _answer(predictions[0])
    by_gpu = {gpu: time_s for (gpu, by), time_s in times.items() if by == model}
    ranked = sorted(by_gpu, key=by_gpu.__getitem__)
    fastest = ranked[0]
    deciding = predictions
    if len(ranked) > 1:
        deciding = [p for p in predictions if _answer(p) == (fastest, model)]
    return Overview(
        launches=_launches(predictions) if _is_workload(predictions) else None,
        gpus_by_time=ranked,
        fastest_s=by_gpu[fastest],
        lead=by_gpu[ranked[1]] / by_gpu[fastest] if len(ranked) > 1 else None,
        low_s=min(times.values()),
        high_s=max(times.values()),
        bottlenecks=list(dict.fromkeys(p.bottleneck for p in sorted(deciding, key=_falling))),
        of_fastest=_of_fastest(predictions),
        warnings=_warnings(predictions),
    )


def _answer(prediction: Prediction) -> tuple[str, str]:
    """The GPU and the model that answer."""
    return prediction.case.machine.name, model_label(prediction.model)


def _time(prediction: Prediction) -> float:
    return prediction.time_s * prediction.case.launch.repeat


def _falling(prediction: Prediction) -> float:
    return -_time(prediction)


def _totals(predictions: Sequence[Prediction]) -> list[Total]:
    names = {model_label(p.model): p.model.name for p in predictions}
    return [
        Total(gpu, names[label], time_s, label)
        for (gpu, label), time_s in total_times(predictions).items()
    ]


def _launches(predictions: Sequence[Prediction]) -> int:
    first = _answer(predictions[0])
    return sum(p.case.launch.repeat for p in predictions if _answer(p) == first)


def _of_fastest(predictions: Sequence[Prediction]) -> list[float | None]:
    def alike(p: Prediction) -> tuple[str, str]:
        return launch_title(p.case), model_label(p.model)

    fastest: dict[tuple[str, str], float] = {}
    for p in predictions:
        fastest[alike(p)] = min(p.time_s, fastest.get(alike(p), p.time_s))
    return [p.time_s / fastest[alike(p)] if fastest[alike(p)] else None for p in predictions]


def _warnings(predictions: Sequence[Prediction]) -> list[Warned]:
    """Every warning once, with the GPUs that it concerns."""
    concerned: dict[str, dict[str, None]] = {}
    for p in predictions:
        for warning in (*p.case.kernel.warnings, *p.warnings):
            concerned.setdefault(warning, {})[p.case.machine.name] = None
    return [Warned(text, list(gpus)) for text, gpus in concerned.items()]
