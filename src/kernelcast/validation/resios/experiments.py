"""What is executed of the thesis: its microbenchmarks of memory, and the experiments of chapter 7.

A. Resios: GPU performance prediction using parametrized models. MSc thesis, Utrecht University,
2011. Nothing of the measured times is printed but ratios. Beside the model's forecast stands that
of the timing simulation, so that ours is model over simulation where the thesis' is prediction over
measurement.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kernelcast.execution.trace import Progress
from kernelcast.forecasting.build import Build
from kernelcast.forecasting.cases import cases_of_workload
from kernelcast.frontends.c.choices import LoopFlags
from kernelcast.frontends.workloads import LaunchFlags, read_workload
from kernelcast.ir import OpClass, Space
from kernelcast.machines.loader import apply_overrides, load_machine
from kernelcast.machines.machine import Machine
from kernelcast.models.resios import Resios
from kernelcast.models.teg import Teg
from kernelcast.models.terms.base import Case, Prediction
from kernelcast.profiling.run import Sampling
from kernelcast.validation.paper_numbers import PaperNumber
from kernelcast.validation.resios.tables import GPU, conflicts_of_stride, printed_number

_KERNELS = Path(__file__).parent / "kernels"
_STRIDES = (1, 2, 4, 8, 16, 32, 33)
_BANKS = (1, 2, 3, 4, 6, 8, 16, 24, 32)
_L1_BYTES, _L2_BYTES = 16 << 10, 384 << 10
_LINE = 128
_CHASED = tuple(k << 10 for k in (8, 12, 16, 20, 32, 64, 192, 320, 384, 448, 768))
_HELD = 0.5
_REGISTERS = 32
"""Of a thread: what a block of 1024 may have."""


@dataclass(frozen=True, slots=True)
class ThesisExperiment:
    """A row of Table 7.1: our launch of it, the printed ratio, and the thesis' hot spots."""

    name: str
    file: str
    flags: LaunchFlags
    ratio: float
    hot_spots: str
    differs: str


def _loops(function: str, block: str, *sizes: str) -> tuple[str, LaunchFlags]:
    """Loops of C, as the thesis begins with them, in the blocks that it names."""
    return "chapter_7.c", LaunchFlags(block=block, loops=LoopFlags((function,), sizes=sizes))


_IMAGE = ("image_width=512", "image_height=512", "filter_gain=1")
_EXPERIMENTS = (
    ThesisExperiment(
        "mul",
        *_loops("mul", "160", "n=1024", "times=64"),
        0.93,
        "none",
        "the chain alone decides, and the simulation has the same latency for every multiply",
    ),
    ThesisExperiment(
        "madd",
        *_loops("madd", "160", "n=1024", "times=64"),
        2.12,
        "none",
        "the thesis analysed a mul and an add; compiled code has one multiply-add",
    ),
    ThesisExperiment(
        "memcpy",
        *_loops("copy", "1024", "n=1048576"),
        2.04,
        "both accesses",
        "every access adds its share of the latency, 500/32 cycles, to the 14 of the bandwidth",
    ),
    ThesisExperiment(
        "transpose",
        *_loops("transpose", "32,32", "size_x=512", "size_y=512"),
        1.64,
        "odata",
        "a line is counted for every word stored, of which the L2 cache writes each once",
    ),
    ThesisExperiment(
        "convolution",
        *_loops("convolution", "32,32", *_IMAGE),
        1.89,
        "out_row",
        "the thesis takes image and filter to be staged in shared memory; the kernel made of the "
        "loops does not, and without caches reads every pixel from memory each time",
    ),
    ThesisExperiment(
        "convolution, staged",
        "convolution.cu",
        LaunchFlags(
            grid="16,16",
            block="32,32",
            args=(
                *_IMAGE,
                "in_image=u8[3 * image_width * image_height]",
                "filter=s32[25]",
                "out_row=u8[3 * image_width * image_height]",
            ),
        ),
        1.89,
        "out_row",
        "in CUDA, image and filter staged; one compute unit executes what the chip does on several "
        "pipes",
    ),
)


@dataclass(frozen=True)
class ExperimentResult:
    """An experiment by the model as printed, and by the timing simulation."""

    experiment: ThesisExperiment
    predicted: Prediction
    simulated: Prediction

    @property
    def ratio(self) -> float:
        """Model over simulation, launches left out, as the thesis times kernels alone."""
        return self._kernel_cycles(self.predicted) / self._kernel_cycles(self.simulated)

    @property
    def hot_spots(self) -> tuple[str, ...]:
        """Where the model says that compute units idle most."""
        terms = self.predicted.terms
        return tuple(str(terms[name]) for name in terms if name.startswith("hot spot"))

    @staticmethod
    def _kernel_cycles(p: Prediction) -> float:
        launch = p.case.machine.number("launch.overhead") * p.case.machine.number("clock.sm")
        return max(1.0, p.cycles - launch)


def experiments(progress: Progress | None = None) -> tuple[ExperimentResult, ...]:
    """All of chapter 7 on the thesis' GPU, caches off in the model as on the chip."""
    found = []
    for done, experiment in enumerate(_EXPERIMENTS, 1):
        case = _case(experiment)
        model = Resios(law="printed", caches=False)
        found.append(ExperimentResult(experiment, model.predict(case), Teg().predict(case)))
        if progress:
            progress(done / len(_EXPERIMENTS))
    return tuple(found)


def _case(experiment: ThesisExperiment) -> Case:
    return _executed(experiment.file, experiment.flags, load_machine(GPU))


def _executed(file: str, flags: LaunchFlags, machine: Machine) -> Case:
    work = read_workload(_KERNELS / file, flags)
    build = Build(registers=_REGISTERS)
    (case,) = cases_of_workload(work, [machine], build=build, sampling=Sampling(exact=True))
    return case


def microbenchmarks() -> Iterator[PaperNumber]:
    """Coalescing (Listing 3.2), bank conflicts (Listing 3.3) and plateaus of the caches."""
    machine = load_machine(GPU)
    for stride in _STRIDES:
        args = ("src=f32[65536]", "dst=f32[65536]", "len=65536", f"stride={stride}")
        case = _executed("stride_copy.cu", LaunchFlags(grid="4", block="256", args=args), machine)
        (load,) = (a for a in case.profile.accesses if a.is_load and a.space is Space.GLOBAL)
        says = f"requests of a warp at a stride of {stride}: min(stride, 32)"
        stated, found = min(stride, 32), load.lines / load.requests
        yield printed_number("Listing 3.2", says, "1", stated, found)
    for bank in _BANKS:
        flags = LaunchFlags(
            grid="1", block="1024", args=("a=f32[1024]", "len=1024", f"bank={bank}")
        )
        case = _executed("conflicts.cu", flags, machine)
        (load,) = (a for a in case.profile.accesses if a.is_load and a.space is Space.SHARED)
        says = f"passes of a warp at bank = {bank}: gcd(32, bank)"
        stated, found = conflicts_of_stride(bank), load.passes / load.requests
        yield printed_number("Listing 3.3", says, "1", stated, found)
    yield from _plateaus(machine)


def _plateaus(machine: Machine) -> Iterator[PaperNumber]:
    """The largest array chased that a cache holds most of, L1 set to 16 KB as in the thesis."""
    small_l1 = apply_overrides(machine, [f"occupancy.shared_carveouts={48 << 10}"])
    held = dict.fromkeys(("L1", "L2"), 0)
    for size in _CHASED:
        hits = _hits(size, small_l1)
        for level, share in zip(held, hits, strict=True):
            if share >= _HELD:
                held[level] = size
    for level, stated in (("L1", _L1_BYTES), ("L2", _L2_BYTES)):
        says = f"largest array of which the {level} cache holds most, a line at a time"
        yield printed_number("3.2", says, "byte", stated, held[level])


def _hits(size: int, machine: Machine) -> tuple[float, float]:
    """Shares of loads after the first pass that L1 holds, and that L1 or L2 hold."""
    once, often = (_served(size, passes, machine) for passes in (1, 3))
    l1, l2, memory = (b - a for a, b in zip(once, often, strict=True))
    total = l1 + l2 + memory
    return l1 / total, (l1 + l2) / total


def _served(size: int, passes: int, machine: Machine) -> tuple[float, float, float]:
    lines = size // _LINE
    args = (f"lines={lines}", f"passes={passes}", f"next=s32[{32 * lines}]", "end=s32[1]")
    case = _executed("chase.cu", LaunchFlags(grid="1", block="1", args=args), machine)
    assert case.cache_counts is not None
    loads = [a for a in case.cache_counts.accesses if a.op_class is OpClass.LOAD]
    return (
        sum(a.l1.hits for a in loads),
        sum(a.l2.hits for a in loads),
        sum(a.l2.misses for a in loads),
    )
