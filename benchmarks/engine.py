"""Thread instructions per second of the engine: followed, not followed, and on two cores."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.measured import Measured
from kernelcast import api
from kernelcast.analysis.slicing import Needed, needed_for_trace
from kernelcast.execution.consumers import Consumer
from kernelcast.execution.execute import execute
from kernelcast.execution.memory import Memory
from kernelcast.execution.sampling import sample_blocks
from kernelcast.execution.trace import Words
from kernelcast.frontends.launch_check import check_launch
from kernelcast.ir import Kernel, Launch
from kernelcast.profiling.builder import ProfileBuilder


class Ignore:
    """Follows a run, and looks at nothing."""

    def consume(self, words: Words) -> None:
        pass

    def split(self) -> Ignore:
        return self

    def merge(self, other: Ignore) -> None:
        pass


IGNORED = Ignore()
EXAMPLES = Path(__file__).parents[1] / "examples"
REPEATS = 5

# Example, blocks executed, promised millions of thread instructions per second as PTX (every value
# computed) and as machine code (only what the trace needs).
CASES = (
    ("saxpy.cu", 16384, 2000, 1500),
    ("matmul_naive.cu", 64, 2000, 1500),
    ("matmul_tiled.cu", 64, None, 1500),
    ("spmv_csr.cu", 1024, 1000, 700),
)


def measure() -> Iterator[Measured]:
    for file, blocks, promised_of_ptx, promised_of_sass in CASES:
        yield from _of_ptx(file, blocks, promised_of_ptx)
        yield from _of_machine_code(file, blocks, promised_of_sass)
    yield _of_two_threads("matmul_tiled.cu", 512)


def _of_ptx(file: str, blocks: int, promised: int | None) -> Iterator[Measured]:
    kernel, launch, memory = prepared(EXAMPLES / file, "ptx")
    chosen = sample_blocks(launch.blocks, blocks)
    engine = rate(kernel, launch, memory, chosen, "engine", REPEATS)
    yield Measured(f"PTX of {file}", engine, "M thread instructions/s", promised)
    if file == "spmv_csr.cu":
        few = sample_blocks(launch.blocks, 64)
        reference = rate(kernel, launch, memory, few, "reference", 3)
        yield Measured("  over the reference interpreter", engine / reference, "times", 10)
    alone = rate(kernel, launch, memory, chosen, "engine", REPEATS, ())
    yield Measured("  nobody follows", alone, "M thread instructions/s")
    yield from _counted(kernel, launch, memory, chosen, None, _promised_counted(file, engine))


def _of_machine_code(file: str, blocks: int, promised: int) -> Iterator[Measured]:
    kernel, launch, memory = prepared(EXAMPLES / file, "sass")
    chosen = sample_blocks(launch.blocks, blocks)
    needed = needed_for_trace(kernel)
    traced = rate(kernel, launch, memory, chosen, "engine", REPEATS, needed=needed)
    yield Measured(f"machine code of {file}", traced, "M thread instructions/s", promised)
    whole = rate(kernel, launch, memory, chosen, "engine", REPEATS)
    yield Measured("  every value computed", whole, "M thread instructions/s")
    yield from _counted(kernel, launch, memory, chosen, needed, _promised_counted(file, traced))


def _promised_counted(file: str, executed: float) -> float:
    """Half of what execution alone reaches, of the divergent kernel 300 M/s."""
    return 300 if file == "spmv_csr.cu" else executed / 2


def _counted(
    kernel: Kernel,
    launch: Launch,
    memory: Memory,
    chosen: Sequence[int],
    needed: Needed | None,
    promised: float,
) -> Iterator[Measured]:
    """Execution and counting together, on one thread and on two."""
    for threads, name in ((1, "  executed and counted"), (2, "  the same on two threads")):
        builder = ProfileBuilder(kernel, launch, memory, chosen)
        counted = rate(
            kernel, launch, memory, chosen, "engine", 3, [builder], needed, threads=threads
        )
        target = promised if threads == 1 else None
        yield Measured(name, counted, "M thread instructions/s", target)


def _of_two_threads(file: str, blocks: int) -> Measured:
    """How much faster two threads are than one, in turn, where nobody follows."""
    kernel, launch, memory = prepared(EXAMPLES / file, "ptx")
    chosen = sample_blocks(launch.blocks, blocks)

    def gain() -> float:
        one, two = (
            rate(kernel, launch, memory, chosen, "engine", 1, (), threads=n) for n in (1, 2)
        )
        return two / one

    gains = statistics.median(gain() for _ in range(REPEATS))
    return Measured(f"PTX of {file}: two threads over one", gains, "times", 1.7)


def prepared(file: Path, isa: str) -> tuple[Kernel, Launch, Memory]:
    work = api.workload(file)
    kernel = api.load(file, kernel=work.launches[0].kernel, build=api.Build(isa=isa))
    launch = check_launch(kernel, work.launches[0])
    return kernel, launch, Memory.build(kernel, launch)


def rate(
    kernel: Kernel,
    launch: Launch,
    memory: Memory,
    blocks: Sequence[int],
    executor: str,
    repeats: int,
    consumers: Sequence[Consumer] = (IGNORED,),
    needed: Needed | None = None,
    threads: int = 1,
) -> float:
    """Median rate in millions; the engine's own time, without its compilation."""

    def once() -> float:
        done = execute(
            kernel,
            launch,
            memory,
            blocks=blocks,
            consumers=consumers,
            executor=executor,
            threads=threads,
            needed=needed,
        )
        return done.thread_instructions / done.seconds / 1e6

    once()
    return statistics.median(once() for _ in range(repeats))
