"""Predictions in the published form of `predict --json`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

from kernelcast.ir import Launch, Space
from kernelcast.models import load_model
from kernelcast.models.terms.base import Case, Prediction
from kernelcast.reporting.document import (
    SCHEMA_NAME,
    BoundPart,
    BreakdownPart,
    CountPart,
    Document,
    LaunchPart,
    OccupancyPart,
    ProvenancePart,
    Result,
    SampledPart,
    Total,
    TrafficPart,
)
from kernelcast.reporting.totals import is_workload, totals


def document_dict(predictions: Sequence[Prediction]) -> dict[str, Any]:
    """The whole document for any number of launches, GPUs and models."""
    sums = totals(predictions) if is_workload(predictions) else {}
    document = Document(
        schema=SCHEMA_NAME,
        kernelcast=version("kernelcast"),
        results=[result(p) for p in predictions],
        totals=[Total(gpu, model, time_s) for (gpu, model), time_s in sums.items()],
        total_time_s=next(iter(sums.values())) if len(sums) == 1 else None,
    )
    built: dict[str, Any] = msgspec.to_builtins(document)
    return built


def result_dict(prediction: Prediction) -> dict[str, Any]:
    """One prediction as a plain dictionary."""
    built: dict[str, Any] = msgspec.to_builtins(result(prediction))
    return built


def result(prediction: Prediction) -> Result:
    """One prediction in the published form."""
    case = prediction.case
    sample = case.profile.sample
    return Result(
        kernel=case.kernel.label or case.kernel.name,
        launch=_launch(case.launch),
        gpu=case.machine.name,
        model=prediction.model,
        isa=case.kernel.isa,
        time_s=prediction.time_s,
        cycles=prediction.cycles,
        low_s=_known(prediction.low_s),
        high_s=_known(prediction.high_s),
        bottleneck=prediction.bottleneck,
        breakdown=[
            BreakdownPart(p.name, p.cycles, p.cycles / prediction.cycles if p.cycles else 0.0)
            for p in prediction.breakdown
        ],
        bounds=[BoundPart(b.name, b.cycles) for b in prediction.bounds],
        occupancy=_occupancy(case),
        needed_warps=_known(prediction.needed_warps),
        traffic=_traffic(case),
        counts={str(op): CountPart(c.warp, c.thread) for op, c in case.profile.counts.items()},
        terms={
            name: _known(value) if isinstance(value, float) else value
            for name, value in prediction.terms.items()
        },
        sampled=SampledPart(sample.blocks, sample.of, _known(sample.spread)),
        assumptions=list(prediction.assumptions),
        not_modelled=list(load_model(prediction.model).not_modelled),
        warnings=[*case.kernel.warnings, *prediction.warnings],
        provenance=_provenance(case),
    )


def _known(value: float | None) -> float | None:
    """JSON has neither infinity nor NaN: what has no figure is null."""
    return value if value is not None and math.isfinite(value) else None


def _launch(launch: Launch) -> LaunchPart:
    return LaunchPart(
        grid=list(launch.grid),
        block=list(launch.block),
        smem=launch.smem_bytes,
        blocks=launch.blocks,
        threads=launch.threads,
        repeat=launch.repeat,
    )


def _occupancy(case: Case) -> OccupancyPart:
    held = case.occupancy
    return OccupancyPart(
        held.blocks_per_sm, held.warps_per_sm, held.relative, held.limiter, held.waves
    )


def _traffic(case: Case) -> TrafficPart:
    moved, profile = case.traffic, case.profile
    return TrafficPart(
        l1_bytes=moved.l1.central,
        l2_bytes=moved.l2.central,
        l2_low_bytes=moved.l2.low,
        l2_high_bytes=moved.l2.high,
        dram_bytes=moved.dram.central,
        dram_low_bytes=moved.dram.low,
        dram_high_bytes=moved.dram.high,
        global_requested_bytes=profile.requested_bytes(Space.GLOBAL),
        shared_requested_bytes=profile.requested_bytes(Space.SHARED),
        local_requested_bytes=profile.requested_bytes(Space.LOCAL),
    )


def _provenance(case: Case) -> ProvenancePart:
    machine, kernel = case.machine, case.kernel
    return ProvenancePart(
        machine_file=Path(machine.file).name,
        machine_version=machine.version,
        machine_overrides=list(machine.overrides),
        source=kernel.source,
        target=kernel.target,
        toolchain=f"{kernel.isa.upper()} {kernel.version}".strip(),
        resources=kernel.resources.source,
        trace=case.profile.executor,
        seconds=case.profile.seconds,
    )
