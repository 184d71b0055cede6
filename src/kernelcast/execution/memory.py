"""The device memory of a launch, or of all launches of a workload.

All arrays lie in one reservation of host addresses that mirrors the address map of the device, so
that a host pointer is a device address plus one constant. Pages cost nothing until they are
touched, hence neither do the guards between arrays nor arrays of zeros.
"""

from __future__ import annotations

import contextlib
import mmap
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kernelcast.errors import LaunchError, NotFoundError
from kernelcast.execution.address_map import (
    ARRAY_ALIGN_BYTES,
    GLOBAL_BASE,
    GUARD_BYTES,
    LOCAL_WINDOW,
    PARAM_WINDOW,
    SHARED_WINDOW,
)
from kernelcast.execution.arguments import match_arguments, pack_parameters, signature
from kernelcast.execution.fills import (
    ELEMENT_TYPES,
    fill_array,
    has_pieces,
)
from kernelcast.execution.packing import packed
from kernelcast.execution.pieces import PiecedArrays
from kernelcast.execution.symbols import chosen_symbols, packed_symbol
from kernelcast.ir import (
    ELEMENT_BYTES,
    Argument,
    ArgumentList,
    Array,
    Kernel,
    Launch,
    Parameter,
    Space,
    Structure,
    Texture,
    Variable,
    arrays_in,
)
from kernelcast.ir.texture import DESCRIPTOR_BYTES

if TYPE_CHECKING:
    from kernelcast.execution.system_calls import SystemCalls

_RESERVED_BYTES = 1 << 40
"""Room for the arrays of later launches; where the system refuses it, a launch's own need."""

_POINTER_BYTES = 8

_TEXEL_WORD_BYTES = 4
"""Texels are read in words of so many bytes."""

_HUGE_BYTES = 1 << 21
"""Size of a huge page."""

_MAP_NORESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)
"""Named by Python only from 3.13 on; the value is that of Linux."""


@dataclass(frozen=True, slots=True)
class Region:
    """One array in device memory: an argument, or a global or constant variable of the module.

    An array `of_host` lies in the host's memory, which kernels reach over the bus.
    """

    label: str
    address: int
    size_bytes: int
    type: str
    writable: bool = True
    is_argument: bool = True
    of_host: bool = False

    @property
    def end(self) -> int:
        """The first address past the array."""
        return self.address + self.size_bytes


@dataclass(frozen=True, slots=True)
class Timers:
    """What the clock of an SM and the global timer show: when the launch begins, and how much more
    after every warp instruction that is executed. By itself each counts these.
    """

    first_cycle: int = 0
    cycles: float = 1.0
    first_ns: int = 0
    ns: float = 1.0


class Reservation(Protocol):
    """Host addresses that mirror those of the device.

    `undo`, where it is not None, gives all of it back what it held before it was written to.
    """

    undo: Callable[[], None] | None
    host_delta: int
    buffer: memoryview

    def view(self, address: int, size_bytes: int) -> NDArray[np.uint8]:
        """A writable view of the bytes from a device address on."""
        ...


class Memory:
    """Arrays, parameter block and symbols of one launch; make it with `Memory.build`.

    Attributes
    ----------
    regions:
        What the launch may access in global and constant space, sorted by address.
    parameters:
        The parameter block; arrays stand in it as device addresses.
    symbols:
        The address of every variable and parameter in its own space: device addresses for global
        and constant ones, offsets for shared, local and parameter memory.
    shared_bytes:
        Shared memory of a block: static variables, then the dynamic part.
    local_bytes:
        Local memory of a thread.
    host_delta:
        Host pointer minus device address, the same for every array.
    undo:
        Takes back all that was written, where that is cheap; None where it is not.
    system:
        Who answers what kernels ask of the system; None where nobody does.
    timers:
        What clocks show to the kernel.
    """

    def __init__(
        self,
        reservation: Reservation,
        regions: tuple[Region, ...],
        parameters: NDArray[np.uint8],
        symbols: Mapping[str, int],
        shared_bytes: int,
        local_bytes: int,
        pieced: PiecedArrays | None = None,
    ) -> None:
        self._reservation = reservation
        self._pieced = pieced or PiecedArrays()
        self.regions = regions
        self.parameters = parameters
        self.symbols = symbols
        self.shared_bytes = shared_bytes
        self.local_bytes = local_bytes
        self.host_delta = reservation.host_delta
        self.undo = reservation.undo
        self.system: SystemCalls | None = None
        self.timers = Timers()
        self.descriptors: Mapping[int, bytes] = {}
        self._starts = [r.address for r in regions]

    @classmethod
    def build(
        cls,
        kernel: Kernel,
        launch: Launch,
        *,
        base_dir: Path | None = None,
        earlier: Memory | None = None,
        is_read: bool = True,
    ) -> Memory:
        """Lay out and fill the memory of a launch.

        `base_dir` is where the paths of file fills start. `earlier` is the memory of the launch
        before in a workload: arrays and variables named as there are the same memory and keep
        what was written to them. Where nobody asks what arrays hold (`is_read` is false), those
        that start random are left zero, which takes no time.

        Raises `LaunchError` where arguments do not fit the kernel or a file cannot be read.
        """
        matched = match_arguments(kernel, launch)
        variables = [v for v in kernel.variables if v.space in (Space.GLOBAL, Space.CONST)]
        need = sum(GUARD_BYTES + v.size_bytes for v in variables)
        symbols_given = chosen_symbols(kernel, launch)
        given = [(label, value) for _, label, value in matched]
        given += [(variable.name, value) for variable, value in symbols_given]
        need += sum(_needed_bytes(label, value) for label, value in given)
        reservation = earlier._reservation if earlier else _Reservation.open(need)
        assert isinstance(reservation, _Reservation)

        placing = _PlacedArguments(
            reservation, base_dir, is_read, _aligned(kernel.parameter_bytes, DESCRIPTOR_BYTES)
        )
        where = signature(kernel)
        values = tuple(
            (p, packed(p, value, label, placing, where=where, name=f"argument {label}"))
            for p, label, value in matched
        )
        placed = {v.name: reservation.place_variable(v) for v in variables}
        contents = {
            variable.name: (value, packed_symbol(variable, value, placing))
            for variable, value in symbols_given
        }
        for name, (value, data) in contents.items():
            if name in placed:
                reservation.set_variable(placed[name], value, data)

        return cls.laid_out(
            kernel,
            launch,
            reservation,
            {*placing.regions, *placed.values()},
            values,
            placed,
            contents,
            reservation.pieced,
            placing.descriptors,
        )

    @classmethod
    def laid_out(
        cls,
        kernel: Kernel,
        launch: Launch,
        reservation: Reservation,
        regions: Iterable[Region],
        values: tuple[tuple[Parameter, bytes], ...],
        variables: Mapping[str, Region],
        contents: Mapping[str, tuple[Argument, bytes]] | None = None,
        pieced: PiecedArrays | None = None,
        descriptors: Mapping[int, bytes] | None = None,
        workspace: int = 0,
    ) -> Memory:
        """The memory of a launch whose arrays lie in `reservation` already.

        `regions` are all that the launch may access, `values` the bytes of every parameter, and
        `variables` where those of the module are in global memory; `contents` are the values and
        bytes of those in constant banks that do not hold what the code brings along. `pieced` are
        the arrays among them that are filled where they are looked at, `descriptors` what stands
        behind the parameters, `workspace` the address at which blocks of a cooperative launch meet.
        """
        shared, static_bytes = _offsets(
            [v for v in kernel.variables if v.space is Space.SHARED and v.size_bytes]
        )
        dynamic = [v for v in kernel.variables if v.space is Space.SHARED and not v.size_bytes]
        dynamic_at = _aligned(static_bytes, max((v.align_bytes for v in dynamic), default=1))
        local, local_bytes = _offsets([v for v in kernel.variables if v.space is Space.LOCAL])
        symbols = {
            **{p.name: p.offset_bytes for p in kernel.parameters},
            **{name: region.address for name, region in variables.items()},
            **shared,
            **{v.name: dynamic_at for v in dynamic},
            **local,
        }
        made = cls(
            reservation,
            tuple(sorted(regions, key=lambda r: r.address)),
            _with_descriptors(
                _parameter_block(
                    kernel, launch, values, symbols, local_bytes, contents or {}, workspace
                ),
                descriptors or {},
            ),
            symbols,
            dynamic_at + launch.smem_bytes,
            local_bytes,
            pieced,
        )
        made.descriptors = dict(descriptors or {})
        return made

    @property
    def buffer(self) -> memoryview:
        """All of device memory; a byte's index is its address minus `GLOBAL_BASE`."""
        return self._reservation.buffer

    def pointers(self, kernel: Kernel) -> dict[int, str]:
        """The array of every parameter that points to one, by the parameter's offset."""
        found = {}
        for parameter in kernel.parameters:
            first = _aligned(parameter.offset_bytes, _POINTER_BYTES)
            end = parameter.offset_bytes + parameter.size_bytes
            for start in range(first, end - _POINTER_BYTES + 1, _POINTER_BYTES):
                address = int(self.parameters[start : start + _POINTER_BYTES].view(np.uint64)[0])
                region = self.region_at(address)
                if region is not None and region.is_argument:
                    found[start] = region.label
        return found

    def bytes_at(self, address: int, size_bytes: int) -> NDArray[np.uint8]:
        """A writable view of `size_bytes` bytes from a device address on."""
        self._pieced.fill(address, size_bytes)
        return self._reservation.view(address, size_bytes)

    def fill(self) -> None:
        """Fill what arrays of this launch hold and nobody has looked at yet."""
        for region in self.regions:
            self._pieced.fill(region.address, region.size_bytes)

    def touch(self, address: int) -> None:
        """Fill the piece of an array that an address lies in, if it is not filled yet."""
        self._pieced.fill(address, 1)

    def filled_pieces(self, region: Region) -> NDArray[np.uint8] | None:
        """Of an array that is filled by pieces, by piece whether it is; None of others."""
        return self._pieced.filled(region.address)

    def array(self, label: str) -> NDArray[Any]:
        """The elements of an array, flat, as a writable view; bf16 and bits as unsigned."""
        for region in self.regions:
            if region.label == label:
                return self.bytes_at(region.address, region.size_bytes).view(
                    ELEMENT_TYPES[region.type]
                )
        raise NotFoundError("array", label, [r.label for r in self.regions])

    def image(self) -> dict[str, bytes]:
        """A copy of every array's bytes, by label."""
        return {r.label: self.bytes_at(r.address, r.size_bytes).tobytes() for r in self.regions}

    def region_at(self, address: int) -> Region | None:
        """The array that holds the byte at `address`."""
        at = bisect_right(self._starts, address) - 1
        if at >= 0 and address < self.regions[at].end:
            return self.regions[at]
        return None

    def nearest(self, address: int) -> Region | None:
        """The array fewest bytes away from `address`; None where there is no array at all."""
        return min(
            self.regions,
            key=lambda r: max(r.address - address, address - r.end + 1, 0),
            default=None,
        )


class _Reservation:
    """Host addresses set aside for the arrays of a workload, and what lies in them."""

    def __init__(self, mapping: mmap.mmap) -> None:
        self._mapping = mapping
        self.undo: Callable[[], None] | None = None
        self.buffer = memoryview(mapping)
        self._bytes = np.frombuffer(mapping, np.uint8)
        self._next = GLOBAL_BASE
        self._placed: dict[tuple[str, bool], Region] = {}
        self._given: dict[str, Argument] = {}
        self.pieced = PiecedArrays()
        self.host_delta = int(self._bytes.ctypes.data) - GLOBAL_BASE

    @classmethod
    def open(cls, need_bytes: int) -> _Reservation:
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE
        need_bytes = _aligned(need_bytes + ARRAY_ALIGN_BYTES, mmap.PAGESIZE)
        for size in (max(_RESERVED_BYTES, need_bytes), need_bytes):
            try:
                return cls(mmap.mmap(-1, size, flags=flags))
            except (OSError, OverflowError, ValueError):
                continue
        raise LaunchError(
            f"the system refuses to reserve {need_bytes / (1 << 30):.1f} GiB of addresses",
            hint="use smaller arrays, or raise the limit on virtual memory (ulimit -v)",
        )

    def view(self, address: int, size_bytes: int) -> NDArray[np.uint8]:
        offset = address - GLOBAL_BASE
        return self._bytes[offset : offset + size_bytes]

    def place_array(
        self,
        label: str,
        array: Array,
        base_dir: Path | None,
        is_read: bool,
        multiple_bytes: int = 1,
    ) -> Region:
        known = self._placed.get((label, True))
        size_bytes = _aligned(array.size_bytes, multiple_bytes)
        if known is None:
            region = self._place(label, size_bytes, array.type, True, True)
            if array.fill.kind == "random" and not is_read:
                return region
            elements = self.view(region.address, array.size_bytes)
            if has_pieces(array):
                self.pieced.add(region.address, array, elements.view(ELEMENT_TYPES[array.type]))
                return region
            if array.fill.kind != "zeros":
                self._expect_writes(region)
            fill_array(elements.view(ELEMENT_TYPES[array.type]), array, base_dir)
            return region
        if (known.type, known.size_bytes) != (array.type, size_bytes):
            raise LaunchError(
                f"array {label} is {array.type} of {array.size_bytes} bytes here, but "
                f"{known.type} of {known.size_bytes} bytes in an earlier launch",
                hint="declare it alike, or rename one of them",
            )
        return known

    def _expect_writes(self, region: Region) -> None:
        """Ask for huge pages under an array about to be filled: far fewer page faults."""
        advice = getattr(mmap, "MADV_HUGEPAGE", None)
        if advice is None or region.size_bytes < _HUGE_BYTES:
            return
        start = (region.address - GLOBAL_BASE) // mmap.PAGESIZE * mmap.PAGESIZE
        with contextlib.suppress(OSError):  # kernels built without huge pages refuse
            self._mapping.madvise(advice, start, region.end - GLOBAL_BASE - start)

    def place_variable(self, variable: Variable) -> Region:
        known = self._placed.get((variable.name, False))
        if known is not None and known.size_bytes == variable.size_bytes:
            return known
        writable = variable.space is Space.GLOBAL
        region = self._place(variable.name, variable.size_bytes, "b8", writable, False)
        initial = np.frombuffer(variable.initial, np.uint8)
        self.view(region.address, initial.size)[:] = initial
        return region

    def place_data(self, label: str, data: bytes) -> Region:
        """Bytes that are an argument, in place of those of an earlier launch."""
        known = self._placed.get((label, True))
        if known is None or known.size_bytes != len(data):
            known = self._place(label, len(data), "b8", True, True)
        self.view(known.address, known.size_bytes)[:] = np.frombuffer(data, np.uint8)
        return known

    def set_variable(self, region: Region, value: Argument, data: bytes) -> None:
        """Give a variable a value, unless it was given the same before."""
        if self._given.get(region.label) != value:
            self._given[region.label] = value
            self.view(region.address, len(data))[:] = np.frombuffer(data, np.uint8)

    def _place(
        self, label: str, size_bytes: int, type_name: str, writable: bool, is_argument: bool
    ) -> Region:
        end = self._next + size_bytes
        if end - GLOBAL_BASE > self._bytes.size:
            raise LaunchError(
                f"no addresses are left for {label} ({size_bytes} bytes)",
                hint="use smaller or fewer arrays",
            )
        region = Region(label, self._next, size_bytes, type_name, writable, is_argument)
        self._next = _aligned(end, ARRAY_ALIGN_BYTES) + GUARD_BYTES
        self._placed[label, is_argument] = region
        return region


def _parameter_block(
    kernel: Kernel,
    launch: Launch,
    values: tuple[tuple[Parameter, bytes], ...],
    symbols: Mapping[str, int],
    local_bytes: int,
    contents: Mapping[str, tuple[Argument, bytes]],
    workspace: int,
) -> NDArray[np.uint8]:
    """The parameters, and in machine code what the driver and the code itself put beside them."""
    block = pack_parameters(kernel, values)
    if kernel.constants is None:
        return block
    words: dict[str, tuple[int, int]] = {
        **{f"ntid.{axis}": (4, n) for axis, n in zip("xyz", launch.block, strict=True)},
        **{f"nctaid.{axis}": (4, n) for axis, n in zip("xyz", launch.grid, strict=True)},
        **{
            f"nclusterid.{axis}": (4, n // blocks)
            for axis, n, blocks in zip("xyz", launch.grid, kernel.cluster, strict=True)
        },
        "shared_window": (8, SHARED_WINDOW),
        "local_window": (8, LOCAL_WINDOW),
        "param_window": (8, PARAM_WINDOW),
        "stack": (4, local_bytes),
        "dynamic_smem_size": (4, launch.smem_bytes),
        "workspace_high": (4, workspace >> 32),
        "workspace_low": (4, workspace & 0xFFFF_FFFF),
    }
    parts = list(kernel.constants.data)
    for word in kernel.constants.launch_words:
        size, value = words[word.name]
        parts.append((word.offset_bytes, (value + word.addend).to_bytes(size, "little")))
    for variable in kernel.constants.variables:
        if variable.name in contents:
            parts.append((variable.offset_bytes, contents[variable.name][1]))
    for pointer in kernel.constants.addresses:
        address = symbols[pointer.variable] + pointer.addend
        parts.append((pointer.offset_bytes, address.to_bytes(8, "little")))
    for offset, data in parts:
        block[offset : offset + len(data)] = np.frombuffer(data, np.uint8)
    return block


def _with_descriptors(
    block: NDArray[np.uint8], descriptors: Mapping[int, bytes]
) -> NDArray[np.uint8]:
    """The parameter block with what textures are read by behind it."""
    if not descriptors:
        return block
    whole = np.zeros(max(place + len(data) for place, data in descriptors.items()), np.uint8)
    whole[: block.size] = block
    for place, data in descriptors.items():
        whole[place : place + len(data)] = np.frombuffer(data, np.uint8)
    return whole


@dataclass
class _PlacedArguments:
    """Places what arguments point to; `regions` are those of this launch."""

    reservation: _Reservation
    base_dir: Path | None
    is_read: bool
    first_descriptor: int
    regions: list[Region] = field(default_factory=list)
    descriptors: dict[int, bytes] = field(default_factory=dict)

    def array(self, label: str, array: Array, multiple_bytes: int = 1) -> int:
        """Where a pointer to an array points, which starts filled and is as long as a multiple of
        bytes."""
        region = self.reservation.place_array(
            label, array, self.base_dir, self.is_read, multiple_bytes
        )
        self.regions.append(region)
        return region.address + array.start * ELEMENT_BYTES[array.type]

    def data(self, label: str, data: bytes) -> int:
        """The address of bytes."""
        region = self.reservation.place_data(label, data)
        self.regions.append(region)
        return region.address

    def texture(self, label: str, texture: Texture) -> int:
        """The place of a texture's descriptor."""
        place = self.first_descriptor + sum(map(len, self.descriptors.values()))
        address = self.array(label, texture.held, _TEXEL_WORD_BYTES)
        self.descriptors[place] = texture.descriptors(address)
        return place

    def inline(self, array: Array) -> bytes:
        """The bytes of an array that stands in place of a value."""
        elements = np.zeros(array.elements, ELEMENT_TYPES[array.type])
        fill_array(elements, array, self.base_dir)
        return elements.tobytes()


def _needed_bytes(label: str, value: Argument) -> int:
    """Addresses that an argument may take, guards included; what holds pointers is small."""
    arrays = [array for _, array in arrays_in(label, value)]
    return sum(GUARD_BYTES + array.size_bytes for array in arrays) + _places(value) * GUARD_BYTES


def _places(value: Argument) -> int:
    """Structs and lists that may be put into memory."""
    if isinstance(value, Structure):
        return 1 + sum(_places(v) for _, v in value.fields)
    if isinstance(value, ArgumentList):
        return 1 + sum(map(_places, value.items))
    return 0


def _offsets(variables: Sequence[Variable]) -> tuple[dict[str, int], int]:
    """Offsets of variables laid out in order from 0, and their end."""
    offsets: dict[str, int] = {}
    end = 0
    for variable in variables:
        offsets[variable.name] = _aligned(end, variable.align_bytes)
        end = offsets[variable.name] + variable.size_bytes
    return offsets, end


def _aligned(value: int, alignment: int) -> int:
    return -(-value // alignment) * alignment
