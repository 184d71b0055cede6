"""Models with plain answers, and one that has its worker killed; workers import them by name."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from kernelcast.errors import LaunchError
from kernelcast.models.terms.base import Bottleneck, Case, Part, Prediction
from kernelcast.profiling.profile import Floats

MOST_SMS = 90


def seconds(sms: Floats | float, bandwidth: Floats | float, clock_hz: float) -> Floats:
    """Inverse to each number until the other binds; with the cube of the clock, to tell it too."""
    return np.asarray(np.maximum(100.0 / sms, 1e13 / bandwidth) * (1e9 / clock_hz) ** 3, np.float64)


@dataclass(frozen=True)
class Stub:
    """Refuses more than `MOST_SMS` SMs."""

    name: ClassVar[str] = "stub"
    title: ClassVar[str] = "A stub"
    source: ClassVar[str] = "this test"
    not_modelled: ClassVar[tuple[str, ...]] = ()

    factor: float = 1.0

    def predict(self, case: Case) -> Prediction:
        machine = case.machine
        sms, bandwidth = machine.number("sm.count"), machine.number("dram.bandwidth")
        if sms > MOST_SMS:
            raise LaunchError(f"more than {MOST_SMS} SMs")
        time_s = self.factor * float(seconds(sms, bandwidth, machine.number("clock.sm")))
        binds = Bottleneck.FP32 if 100 / sms > 1e13 / bandwidth else Bottleneck.DRAM_BANDWIDTH
        return Prediction(self, case, time_s, time_s, binds, (Part(str(binds), time_s),))


@dataclass(frozen=True)
class StubOfArrays(Stub):
    """The same, for arrays of two of its numbers."""

    name: ClassVar[str] = "stub-of-arrays"
    swept: ClassVar[frozenset[str]] = frozenset({"sm.count", "dram.bandwidth", "noc.queue"})

    def predict_many(self, case: Case, numbers: Mapping[str, Floats]) -> Floats:
        machine = case.machine
        sms = numbers.get("sm.count", np.array(machine.number("sm.count")))
        if np.any(sms > MOST_SMS):
            raise LaunchError(f"more than {MOST_SMS} SMs")
        bandwidth = numbers.get("dram.bandwidth", np.array(machine.number("dram.bandwidth")))
        clock_hz = machine.number("clock.sm")
        return np.broadcast_to(
            self.factor * seconds(sms, bandwidth, clock_hz), next(iter(numbers.values())).shape
        )


@dataclass(frozen=True)
class Deadly(Stub):
    """Has its process killed the first `times` times that it is asked for so many SMs."""

    name: ClassVar[str] = "deadly"

    folder: str = ""
    sms: float = 40
    times: int = 1

    def predict(self, case: Case) -> Prediction:
        parent = int((Path(self.folder) / "parent").read_text())
        if case.machine.number("sm.count") == self.sms and os.getpid() != parent:
            for turn in range(self.times):
                try:
                    (Path(self.folder) / f"killed {turn}").touch(exist_ok=False)
                except FileExistsError:
                    continue
                os.kill(os.getpid(), signal.SIGKILL)
        return super().predict(case)


@dataclass(frozen=True)
class Slow(Stub):
    """Takes a moment for every answer."""

    name: ClassVar[str] = "slow"

    def predict(self, case: Case) -> Prediction:
        time.sleep(0.002)
        return super().predict(case)
