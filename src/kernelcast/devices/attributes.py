"""What the device answers about itself, from its machine file.

Attributes are named by the numbers of `CUdevice_attribute`. What is no property of the chip but of
its interface is as the CUDA C++ Programming Guide has it for every chip of today.
"""

from __future__ import annotations

from kernelcast.machines.bus import bus_bandwidth
from kernelcast.machines.machine import Machine

_COUNT = 256
_MAX_THREADS_PER_BLOCK = 1
SHARED_PER_BLOCK_OPTIN = 97

_OF_EVERY_CHIP = {
    2: 1024,  # threads of a block in x
    3: 1024,
    4: 64,
    5: 2**31 - 1,  # blocks of a grid in x
    6: 65535,
    7: 65535,
    9: 65536,  # bytes of constant memory
    10: 32,  # lanes of a warp
    11: 2**31 - 1,  # bytes of the longest pitch
    14: 512,  # alignment of textures
    15: 1,  # copies beside kernels
    19: 1,  # host memory is mapped
    31: 1,  # kernels beside each other
    33: 1,  # number on the bus
    40: 2,  # copies at once
    41: 1,  # one address space
    78: 1,  # priorities of streams
    79: 1,  # the L1 cache keeps global memory
    80: 1,  # and local memory
    83: 1,  # managed memory
    89: 1,  # managed memory while kernels run
    95: 1,  # cooperative launches
    99: 1,  # host memory can be registered
    102: 1,  # memory is mapped to reserved addresses
    115: 1,  # memory pools
}
_OF_MACHINE = {
    _MAX_THREADS_PER_BLOCK: "occupancy.threads_per_block",
    8: "occupancy.shared_per_block",
    12: "occupancy.registers_per_block",
    16: "sm.count",
    38: "l2.size",
    39: "occupancy.threads_per_sm",
    81: "occupancy.shared_per_sm",
    82: "occupancy.registers_per_sm",
    SHARED_PER_BLOCK_OPTIN: "occupancy.shared_per_block_optin",
    106: "occupancy.blocks_per_sm",
    111: "occupancy.shared_reserved",
}
_CLOCK_KHZ, _MEMORY_CLOCK_KHZ, _BUS_BITS, _MAJOR, _MINOR = 13, 36, 37, 75, 76


def device_attributes(machine: Machine) -> list[int]:
    """The value of every attribute, 0 where the device has no such thing or nobody knows."""
    values = [0] * _COUNT
    for number, value in _OF_EVERY_CHIP.items():
        values[number] = value
    for number, path in _OF_MACHINE.items():
        values[number] = int(machine.get(path) or 0)
    values[SHARED_PER_BLOCK_OPTIN] = values[SHARED_PER_BLOCK_OPTIN] or values[8]
    values[_MAJOR], values[_MINOR] = machine.compute_capability
    memory_hz = machine.get("clock.memory") or 0.0
    values[_CLOCK_KHZ] = round((machine.get("clock.sm") or 0.0) / 1e3)
    values[_MEMORY_CLOCK_KHZ] = round(memory_hz / 1e3)
    # Programs compute the bandwidth as twice the memory's clock times the width of the bus.
    if memory_hz:
        bits = 8 * (machine.get("dram.bandwidth") or 0.0) / (2 * memory_hz)
        values[_BUS_BITS] = 32 * round(bits / 32)
    return values


def memory_bytes(machine: Machine) -> int:
    """Size of the device's memory; that of a small card where nobody knows."""
    return int(machine.get("dram.size") or 4 << 30)


def transfer_seconds(machine: Machine, size_bytes: int, *, over_bus: bool, passes: int) -> float:
    """How long a copy takes: over the bus, or in as many passes through the device's memory."""
    if over_bus:
        return size_bytes / bus_bandwidth(machine)
    rate = machine.get("dram.achieved_bandwidth") or machine.get("dram.bandwidth")
    return passes * size_bytes / rate if rate else 0.0
