"""What accesses take of the banks that shared memory and the L1 cache are made of."""

from __future__ import annotations

from kernelcast.ir import Space
from kernelcast.machines.machine import Machine
from kernelcast.profiling.profile import AccessProfile


def shared_pass_cycles(machine: Machine) -> float | None:
    """Cycles in which all banks serve one word each, None where the machine does not say."""
    bandwidth = machine.get("shared.bandwidth")
    banks, width = machine.get("shared.banks"), machine.get("shared.bank_width")
    if bandwidth is None or banks is None or width is None:
        return None
    return banks * width / bandwidth


def lies_in_shared_banks(machine: Machine) -> bool:
    """Whether the data of the L1 cache lie in the banks of shared memory: since Volta, of which the
    banks of its tags are known, too."""
    return bool(machine.numbers("l1.tag_bank_bits"))


def load_cycles(machine: Machine, access: AccessProfile) -> float | None:
    """Cycles that the L1 cache of an SM is busy with a load from global memory, hit or miss.

    The slowest of three stages, which work side by side: banks of tags (four there), which look up
    one line each; the data, which lie in the banks of shared memory and take as many passes as
    those would; and the way back to the registers, on which every active lane has its own copy. All
    three show in the tables that gpu-strides of RRZE's gpu-benches measured on an A100 and an A40
    (github.com/RRZE-HPC/gpu-benches, 1038c5d). That the A40's way back is 64 bytes wide, not 16
    lanes, they do not tell, since its few double-precision units hide it: loads of 8 and 16 bytes
    a lane take 2 and 6 cycles longer than those of 4 on an RTX A6000 (Huerta et al. 2025, Table 2).

    On Turing a pass takes two cycles, and products of matrices and convolutions with blocks of 16
    by 16 do run as if. Yet a column of 32 lanes in one bank and a broadcast take 33 there, not 66
    (the simple matrix-vector product of R100001/Programming-Massively-Parallel-Processors on an
    RTX 2060, 512 to 4096 rows): lanes that come one by one take a cycle each.

    None where the cache does not work so (before compute capability 7.0 it is none of shared
    memory's), where the machine lacks a number or the access is no load from global memory.
    """
    tags, rate = machine.get("l1.tags"), machine.get("l1.bandwidth")
    bits = machine.numbers("l1.tag_bank_bits")
    in_banks = bank_cycles(machine, access)
    if tags is None or rate is None or in_banks is None:
        return None
    looked_up = access.tag_passes * (1 << len(bits)) / tags
    return max(looked_up, in_banks, access.bytes / rate)


def bank_cycles(machine: Machine, access: AccessProfile) -> float | None:
    """Of those, the cycles of the banks that shared memory lies in, too; None as above."""
    data = shared_pass_cycles(machine)
    if data is None or not lies_in_shared_banks(machine):
        return None
    if access.space is not Space.GLOBAL or not access.is_load:
        return None
    return min(access.passes * data, max(access.passes, access.lanes))
