"""What the timers of a kernel show: forecast time, which passes evenly from instruction to
instruction of a block."""

from __future__ import annotations

from kernelcast.devices.forecasts import LaunchForecast
from kernelcast.execution.memory import Timers
from kernelcast.machines.machine import Machine


def timers_of(forecast: LaunchForecast, machine: Machine, begin_s: float) -> Timers:
    """The timers of a launch that begins at a time.

    A block takes its share of the launch's time without overhead: all of it where all blocks are
    resident at once. Where there is no forecast, every warp instruction takes a cycle.
    """
    clock_hz = machine.get("clock.sm") or 1e9
    step_s = 1 / clock_hz
    if forecast.predictions:
        case = forecast.predictions[0].case
        busy_s = max(forecast.predictions[0].time_s - (machine.get("launch.overhead") or 0.0), 0.0)
        resident = case.occupancy.blocks_per_sm * machine.number("sm.count")
        per_block = case.profile.total.warp / case.launch.blocks
        if per_block and resident:
            step_s = busy_s * min(1.0, resident / case.launch.blocks) / per_block
    return Timers(round(begin_s * clock_hz), step_s * clock_hz, round(begin_s * 1e9), step_s * 1e9)
