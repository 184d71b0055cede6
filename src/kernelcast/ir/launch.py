"""A launch: grid, block, dynamic shared memory and arguments."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from numbers import Integral, Real
from typing import TYPE_CHECKING

from kernelcast.errors import LaunchError
from kernelcast.ir.sizes import WARP_LANES
from kernelcast.ir.tensor_map import TensorLayout
from kernelcast.ir.texture import FLOAT, MODES, SIGNED, UNSIGNED, TextureLayout

Dim3 = tuple[int, int, int]

ELEMENT_BYTES: Mapping[str, int] = {
    **{f"{kind}{bits}": bits // 8 for kind in "bus" for bits in (8, 16, 32, 64)},
    "f16": 2,
    "bf16": 2,
    "f32": 4,
    "f64": 8,
}
"""Size of one element of every array type."""


@dataclass(frozen=True, slots=True)
class Fill:
    """How an array starts: `kind` and its numbers, for example `random(1)`; `path` for files."""

    kind: str = "zeros"
    numbers: tuple[float, ...] = ()
    path: str = ""

    def __str__(self) -> str:
        if self.kind == "file":
            return f'file("{self.path}")'
        numbers = ", ".join(map(str, self.numbers))
        return f"{self.kind}({numbers})" if numbers else self.kind


@dataclass(frozen=True, slots=True)
class Array:
    """A device array: element type, shape and how it starts. Its values are made at execution.

    Where it is an argument that another one shares, it is `of` that other one's name. A pointer to
    it points to the element `start`.
    """

    type: str
    shape: tuple[int, ...]
    fill: Fill = Fill()
    of: str = ""
    start: int = 0

    @property
    def elements(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def size_bytes(self) -> int:
        """Size in memory."""
        return self.elements * ELEMENT_BYTES[self.type]

    def __str__(self) -> str:
        text = f"{self.type}[{','.join(map(str, self.shape))}] {self.fill}"
        text = f"{text} of {self.of}" if self.of else text
        return f"{text} + {self.start}" if self.start else text


@dataclass(frozen=True, slots=True)
class TensorMap:
    """A tensor map, which copies of tiles go by: an array and the box that one copy moves.

    `order` are the dimensions of the array from the outermost of the map on, and `box` has a length
    for each of these. Rows of a box have `swizzle_bytes` bytes where their chunks are exchanged in
    shared memory. The array is an argument like others, called `of`; where that is empty, by the
    label of the map.
    """

    array: Array
    box: tuple[int, ...]
    order: tuple[int, ...]
    swizzle_bytes: int = 0
    of: str = ""

    def layout(self, address: int) -> TensorLayout:
        """What the map says of an array at an address."""
        element_bytes = ELEMENT_BYTES[self.array.type]
        shape = self.array.shape
        strides = [element_bytes * math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
        inner_first = self.order[::-1]
        return TensorLayout(
            address=address,
            element_bytes=element_bytes,
            extents=tuple(shape[axis] for axis in inner_first),
            strides_bytes=tuple(strides[axis] for axis in inner_first[1:]),
            box=self.box[::-1],
            swizzle_bytes=self.swizzle_bytes,
        )

    def __str__(self) -> str:
        lengths = ",".join(map(str, self.box))
        parts = [f"{self.array} box[{lengths}]"]
        if self.order != tuple(range(len(self.order))):
            parts.append(f"order[{','.join(map(str, self.order))}]")
        if self.swizzle_bytes:
            parts.append(f"swizzle({self.swizzle_bytes})")
        if self.of:
            parts.append(f"of {self.of}")
        return " ".join(parts)


@dataclass(frozen=True, slots=True)
class Texture:
    """A texture or surface object of an array, read by coordinates of `rank` dimensions, the last
    of the array being x. Layers, and the faces of a cube, stand before them; an array with one
    dimension more has texels of several channels.

    `mode` says what stands beyond the edge; the rest is as in `cudaTextureDesc`. The array is the
    largest of `levels` levels of detail. The next ones, each half as large, follow it in memory.
    """

    array: Array
    rank: int
    is_surface: bool = False
    is_linear: bool = False
    mode: str = "clamp"
    normalized_coordinates: bool = False
    normalized_float: bool = False
    is_layered: bool = False
    is_cube: bool = False
    levels: int = 1
    is_linear_between: bool = False

    @property
    def dimensions(self) -> int:
        """Dimensions of the array before the channels of a texel."""
        return self.rank + (self.is_layered or self.is_cube)

    @property
    def channels(self) -> int:
        """Values of a texel."""
        return self.array.shape[-1] if len(self.array.shape) > self.dimensions else 1

    @property
    def layers(self) -> int:
        """Layers, or faces, of all cubes; 1 where there are none."""
        return self.array.shape[0] if self.dimensions > self.rank else 1

    def extents(self, level: int) -> tuple[int, ...]:
        """How many texels a level has, x last."""
        largest = self.array.shape[self.dimensions - self.rank : self.dimensions]
        return tuple(max(n >> level, 1) for n in largest)

    @property
    def held(self) -> Array:
        """The array with all levels, as it lies in memory."""
        if self.levels == 1:
            return self.array
        each = (
            math.prod(self.extents(n)) * self.layers * self.channels for n in range(self.levels)
        )
        return replace(self.array, shape=(sum(each),))

    def descriptors(self, address: int) -> bytes:
        """What says where an array at an address is and how it is read: of every level."""
        layouts = []
        for level in range(self.levels):
            layouts.append(self._layout(address, level))
            slices = layouts[-1].z or 1
            address += layouts[-1].slice * slices
        return b"".join(layout.pack() for layout in layouts)

    def _layout(self, address: int, level: int) -> TextureLayout:
        type_ = self.array.type
        kind = FLOAT if type_.startswith("f") else SIGNED if type_.startswith("s") else UNSIGNED
        texel_bytes = ELEMENT_BYTES[type_] * self.channels
        z, y, x = ((1,) * 3 + self.extents(level))[-3:]
        if self.dimensions > self.rank:
            z = self.layers
        # Coordinates that are not normalized are clamped where they would repeat.
        repeats = self.mode in ("wrap", "mirror") and not self.normalized_coordinates
        return TextureLayout(
            base=address,
            pitch=x * texel_bytes,
            slice=x * y * texel_bytes,
            x=x,
            y=y if self.rank > 1 else 0,
            z=z if self.dimensions > 2 or self.dimensions > self.rank else 0,
            texel_bytes=texel_bytes,
            bits=8 * ELEMENT_BYTES[type_],
            kind=kind,
            is_linear=int(self.is_linear),
            is_normalized=int(self.normalized_coordinates),
            modes=0 if repeats else 0x010101 * MODES.index(self.mode),
            reads_fraction=int(self.normalized_float),
            levels=self.levels - level,
            is_linear_between=int(self.is_linear_between),
        )

    def __str__(self) -> str:
        words = ["cube"] if self.is_cube else [f"{self.rank}d"]
        words += ["layered"] if self.is_layered else []
        words += [f"levels({self.levels})"] if self.levels > 1 else []
        words += ["linear"] if self.is_linear else []
        words += ["linear_between"] if self.is_linear_between else []
        words += [self.mode] if self.mode != MODES[0] else []
        words += ["normalized_coordinates"] if self.normalized_coordinates else []
        words += ["normalized_float"] if self.normalized_float else []
        kind = "surface" if self.is_surface else "texture"
        return f"{self.array} {kind}({', '.join(words)})"


class CacheState(StrEnum):
    """What the L2 cache holds when a launch starts; L1 caches are empty then."""

    COLD = "cold"
    """Nothing; and what the launch leaves in it is written to the DRAM."""
    WARM = "warm"
    """What the launches before have left, or the launch itself where there are none."""
    FLUSHED = "flushed"
    """Nothing; and what the launch leaves in it stays there until it is over."""


@dataclass(frozen=True, slots=True)
class Structure:
    """The fields of a struct by name: `{p=f32[8], n=8}`.

    Where nobody knows the struct, a name says where its field lies and what it is: `n@8:s32`.
    """

    fields: tuple[tuple[str, Argument], ...]

    def __str__(self) -> str:
        return f"{{{', '.join(f'{name}={value}' for name, value in self.fields)}}}"


@dataclass(frozen=True, slots=True)
class ArgumentList:
    """Values one behind the other: `[f32[8], f32[8]]`."""

    items: tuple[Argument, ...]

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self.items))}]"


Argument = int | float | Array | TensorMap | Texture | Structure | ArgumentList


def arrays_in(label: str, argument: Argument) -> Iterator[tuple[str, Array]]:
    """The arrays that an argument points to, each with the name of its memory."""
    if isinstance(argument, TensorMap):
        yield argument.of or label, argument.array
    elif isinstance(argument, Texture):
        yield argument.array.of or label, argument.held
    elif isinstance(argument, Array):
        yield argument.of or label, argument
    elif isinstance(argument, Structure):
        for name, value in argument.fields:
            yield from arrays_in(field_label(label, name), value)
    elif isinstance(argument, ArgumentList):
        for at, value in enumerate(argument.items):
            yield from arrays_in(f"{label}[{at}]", value)


def field_label(label: str, name: str) -> str:
    """What a field is called: `s.p` of `p` or `p@8` in `s`."""
    return f"{label}.{name.partition('@')[0] or name}"


class HostMemory(StrEnum):
    """The host's end of a copy between host and device."""

    PINNED = "pinned"
    """Page-locked: the GPU reads and writes it by itself."""
    PAGEABLE = "pageable"
    """What malloc gives: the driver copies it in parts through pinned memory of its own."""


@dataclass(frozen=True, slots=True)
class CopyPlan:
    """What a program copies around its launches.

    `to_device` and `to_host` are labels of arrays; None stands for those that the launches read
    before they write them, and for those that they write. Copies and kernels come in `parts` equal
    ones that overlap; in one, nothing overlaps.
    """

    memory: HostMemory = HostMemory.PINNED
    to_device: tuple[str, ...] | None = None
    to_host: tuple[str, ...] | None = None
    parts: int = 1


@dataclass(frozen=True)
class Launch:
    """One launch of one kernel.

    `grid` and `block` may be given as a number or with fewer than three extents. `args` maps
    labels to values in the kernel's order of parameters; a mapping of fields stands for a struct,
    a list for values one behind the other. `kernel` may be empty where the file holds one kernel
    only; template kernels are named by expression (`tiled<16>`). `symbols` are values of the
    module's variables, `cluster` the blocks of a cluster where not the kernel says how many, as
    programs may (`kernelcast run`). `carveout` is how much of the largest shared memory of an SM
    the kernel prefers, in percent; what is left is L1 cache. Without, the driver decides.
    """

    grid: Dim3
    block: Dim3
    args: Mapping[str, Argument] = field(default_factory=dict)
    smem_bytes: int = 0
    kernel: str = ""
    repeat: int = 1
    symbols: Mapping[str, Argument] = field(default_factory=dict)
    cluster: Dim3 | None = None
    carveout: int | None = None

    if TYPE_CHECKING:
        # What is given is not what is kept, which the fields cannot say.
        def __init__(
            self,
            grid: int | tuple[int, ...],
            block: int | tuple[int, ...],
            args: Mapping[str, GivenArgument] = ...,
            smem_bytes: int = 0,
            kernel: str = "",
            repeat: int = 1,
            symbols: Mapping[str, GivenArgument] = ...,
            cluster: int | tuple[int, ...] | None = None,
            carveout: int | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "grid", _three(self.grid))
        object.__setattr__(self, "block", _three(self.block))
        if self.cluster is not None:
            object.__setattr__(self, "cluster", _three(self.cluster))
        for name in ("args", "symbols"):
            values = {label: _argument(v, label) for label, v in getattr(self, name).items()}
            object.__setattr__(self, name, values)

    @property
    def blocks(self) -> int:
        """Blocks in the grid."""
        return math.prod(self.grid)

    @property
    def threads_per_block(self) -> int:
        """Threads in a block."""
        return math.prod(self.block)

    @property
    def warps_per_block(self) -> int:
        """Warps in a block, the last one possibly partial."""
        return -(-self.threads_per_block // WARP_LANES)

    @property
    def threads(self) -> int:
        """Threads in the grid."""
        return self.blocks * self.threads_per_block

    def __str__(self) -> str:
        def dims(d: Dim3) -> str:
            return "x".join(map(str, d[: 3 if d[2] > 1 else 2 if d[1] > 1 else 1]))

        smem = f", {self.smem_bytes} B dynamic shared memory" if self.smem_bytes else ""
        return f"{self.kernel or 'kernel'}<<<{dims(self.grid)}, {dims(self.block)}>>>{smem}"


GivenArgument = Argument | Mapping[str, "GivenArgument"] | Sequence["GivenArgument"]
"""What may be given for an argument."""


def _argument(given: object, label: str) -> Argument:
    """An argument as a launch keeps it. LaunchError for what is none."""
    if isinstance(given, Mapping):
        return Structure(tuple((str(k), _argument(v, f"{label}.{k}")) for k, v in given.items()))
    if isinstance(given, list | tuple):
        items = enumerate(given)
        return ArgumentList(tuple(_argument(v, f"{label}[{at}]") for at, v in items))
    if isinstance(given, Real):
        return int(given) if isinstance(given, Integral) else float(given)
    if isinstance(given, Array | TensorMap | Texture | Structure | ArgumentList):
        return given
    kind = type(given)
    raise LaunchError(
        f"{label} is a {kind.__module__}.{kind.__qualname__}, which is no argument",
        hint='give a number, an array such as kernelcast.f32(1024, fill="random(1)"), or one that '
        "numpy.save has written, as fill='file(\"x.npy\")'",
    )


def _three(extents: int | tuple[int, ...]) -> Dim3:
    """`8` and `(8, 4)` as `(8, 1, 1)` and `(8, 4, 1)`."""
    given = (extents,) if isinstance(extents, int) else tuple(extents)
    x, y, z = (*given, *(1,) * (3 - len(given)))
    return x, y, z
