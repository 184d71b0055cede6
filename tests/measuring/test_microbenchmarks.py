"""The machine code of the microbenchmarks: they measure what they say."""

from __future__ import annotations

import ctypes
import shutil
import sys
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.kept import CACHE
from tests.measuring.fake_gpu import (
    CTYPE,
    EMPTY_CODE,
    SIGNATURE_OF,
    FakeGpu,
    known_chip,
)

from kernelcast.errors import ToolError
from kernelcast.frontends.cubin import read_cubin
from kernelcast.isas.sass import SassFunction, parse_sass
from kernelcast.isas.sass.flow import flow_graph
from kernelcast.measuring.harness import measure
from kernelcast.measuring.harness import session as s
from kernelcast.measuring.harness.compiling import compile_here
from kernelcast.measuring.harness.gpu import Gpu
from kernelcast.measuring.harness.gpu_driver import declared
from kernelcast.measuring.harness.microbenchmarks.arithmetic import OPERATIONS, SINCE
from kernelcast.measuring.harness.microbenchmarks.tensor import GROUP_SHAPES, SHAPES, THREAD_SHAPES
from kernelcast.measuring.pack import SOURCES, TARGETS, compile_benchmark, source_files
from kernelcast.toolchain.nvdisasm import disassemble, nvdisasm_paths
from kernelcast.toolchain.nvrtc import Compilation

FILES = {file.stem: file for file in source_files()}
RUNNERS = [
    Path(s.__file__).read_text(),
    *(file.read_text() for file in SOURCES.glob("*.py")),
]
LOOP = {"IADD3", "UIADD3", "IADD", "ISETP", "UISETP", "BRA", "VIADD"}
LOADS_OR_STORES = {"LDG", "STG", "LDS", "STS", "LDC"}
MOST_LOOP_INSTRUCTIONS = 6
OPCODES = {
    "fp32_add": {"FADD": 1},
    "fp32_mul": {"FMUL": 1},
    "fp32_fma": {"FFMA": 1},
    "fp64_fma": {"DFMA": 1},
    "fp16_fma": {"HFMA2": 1},
    "int_add": {"IADD3": 2},
    "int_mad": {"IMAD": 1},
    "logic": {"LOP3": 2},
    "shift": {"SHF": 1},
    "popc": {"POPC": 1},
    "convert": {"I2F": 1, "F2I": 1},
    "convert_f16": {"F2F": 1, "HADD2": 1},
    "convert_f64": {"F2F": 2},
    "bf16_fma": {"HFMA2": 1},
    "int_compare": {"ISETP": 1, "SEL": 1},
    "int_minmax": {"IMNMX": 2},
    "fp32_compare": {"FSETP": 1, "FSEL": 1},
    "fp32_minmax": {"FMNMX": 2},
    "rsqrt": {"MUFU": 1},
    "exp2": {"MUFU": 1},
    "sin": {"FMUL": 1, "MUFU": 1},
    "shuffle": {"SHFL": 1},
}
MODIFIERS = {"rsqrt": "RSQ", "exp2": "EX2", "sin": "SIN"}
NEWER_NAMES = {"I2FP": "I2F", "HFMA2.MMA": "HFMA2", "F2FP": "F2F", "VIMNMX": "IMNMX"}


@cache
def compiled(stem: str, target: str) -> Compilation:
    return compile_benchmark(FILES[stem], target, CACHE)


@cache
def functions(stem: str, target: str) -> dict[str, SassFunction]:
    try:
        nvdisasm_paths()
    except ToolError as error:
        pytest.skip(str(error))
    listing = disassemble(compiled(stem, target).cubin, CACHE)
    return dict(parse_sass(listing, stem).functions)


def capability(target: str) -> tuple[int, int]:
    """Of `sm_90`, (9, 0)."""
    return divmod(int(target.removeprefix("sm_")), 10)


def is_delay(instruction) -> bool:
    """A uniform instruction that is never executed: it only passes time before a result."""
    return str(instruction).startswith("@!UPT UIADD3 URZ")


def longest_loop(function: SassFunction) -> list:
    """Instructions from the target of the longest backward branch to the branch."""
    graph = flow_graph(function)
    spans = [
        (graph.blocks[successor].start, block.end)
        for block in graph.blocks
        for successor in block.successors
        if successor <= block.index and block.index in graph.reachable
    ]
    loops: list[Any] = [function.instructions[start:end] for start, end in spans]
    # On compute capability 8.x a long loop is left by a guarded call to the code behind it.
    loops = [
        [i for i in loop if i.opcode != "NOP" and not (i.opcode == "CALL" and i.guard)]
        for loop in loops
    ]
    return max((loop for loop in loops if len({i.opcode for i in loop}) > 1), key=len)


def test_every_file_is_named_by_the_runner_and_says_what_it_follows():
    for stem, file in FILES.items():
        text = file.read_text()
        assert "#include" not in text
        first = text.partition("\n\n#")[0] + text.partition("extern")[0]
        assert any(name in first for name in ("Volkov", "Wong", "Mei", "Sun", "Luo")), file.name
        assert any(f'"{stem}"' in runner for runner in RUNNERS), file.name


@pytest.mark.parametrize("target", TARGETS)
def test_every_file_compiles(target):
    for stem in FILES:
        made = compiled(stem, target)
        assert made.cubin[:4] == b"\x7fELF"
        assert "spill" not in made.log or " 0 bytes spill stores" in made.log


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("target", TARGETS)
def test_the_loops_hold_exactly_the_intended_instructions(operation, target):
    if capability(target) < SINCE.get(operation, (0, 0)):
        assert not any(name.startswith(operation) for name in functions("arithmetic", target))
        return
    for chains, steps in ((1, 64), (1, 192), (2, 64), (4, 64)):
        loop = longest_loop(functions("arithmetic", target)[f"{operation}_{chains}x{steps}"])
        found = Counter(NEWER_NAMES.get(i.opcode, i.opcode) for i in loop)
        expected = {o: n * chains * steps for o, n in OPCODES[operation].items()}
        assert sum(OPCODES[operation].values()) >= OPERATIONS[operation]
        for opcode, count in expected.items():
            spare = found[opcode] - count
            assert 0 <= spare <= (2 if opcode in LOOP else 0), (chains, steps, found)
            found[opcode] = spare
        assert set(+found) <= LOOP, (chains, steps, found)
        assert found.total() <= MOST_LOOP_INSTRUCTIONS, found
        if operation in MODIFIERS:
            functions_used = {i.modifiers[0] for i in loop if i.opcode == "MUFU"}
            assert functions_used == {MODIFIERS[operation]}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("kernel", "opcode", "count"),
    [
        ("chase_ca", "LDG", 32),
        ("chase_cg", "LDG", 32),
        ("chase_shared", "LDS", 32),
        ("chase_constant", "LDC", 32),
        ("l2_slices", "LDG", 16),
    ],
)
def test_a_chase_is_loads_alone(kernel, opcode, count, target):
    stem = "constants" if kernel == "chase_constant" else "chase"
    loop = shortest_of(functions(stem, target)[kernel], opcode, count)
    found = Counter(i.opcode for i in loop)
    assert found[opcode] == count
    del found[opcode]
    assert {i.opcode for i in loop if i.opcode != opcode and "MOV" not in i.modifiers} <= LOOP
    assert found.total() <= MOST_LOOP_INSTRUCTIONS
    loads = [i for i in loop if i.opcode == opcode]
    # Each load's result is the next one's address: nothing overlaps.
    for first, second in pairwise(loads):
        result = first.operands[0].register
        address = second.operands[1]
        registers = [address] if opcode == "LDC" else address.registers
        assert registers[0].register == result


@pytest.mark.parametrize("target", TARGETS)
def test_no_load_of_a_bandwidth_kernel_is_optimised_away(target):
    found = functions("bandwidth", target)
    for width in (4, 8, 16):
        for level, opcode in (("l1", "LDG"), ("shared", "LDS")):
            loop = found[f"repeat_{level}_{width}"]
            loads = [i for i in loop.instructions if i.opcode == opcode]
            assert sum(i in loads for i in longest_of(loop, opcode)) == 8
    for shape, count in (("4x1", 1), ("4x4", 4), ("8x4", 4), ("16x1", 1), ("16x4", 4)):
        for mode, opcodes in (
            ("read", ("LDG",)),
            ("write", ("STG",)),
            ("copy", ("LDG", "STG")),
        ):
            for opcode in opcodes:
                loop = longest_of(found[f"{mode}_{shape}"], opcode)
                assert sum(i.opcode == opcode for i in loop) >= count, (mode, shape)


def loops_of(function: SassFunction) -> list:
    """Instructions from the target of every backward branch to the branch."""
    graph = flow_graph(function)
    return [
        function.instructions[graph.blocks[s].start : block.end]
        for block in graph.blocks
        for s in block.successors
        if s <= block.index
    ]


def shortest_of(function: SassFunction, opcode: str, count: int) -> list:
    """The shortest loop with that many instructions of that opcode, delays left out."""
    found = [x for x in loops_of(function) if sum(i.opcode == opcode for i in x) == count]
    return [i for i in min(found, key=len) if not is_delay(i)]


def longest_of(function: SassFunction, opcode: str) -> list:
    """The loop with the most instructions of that opcode."""
    loops = loops_of(function)
    most = max(sum(i.opcode == opcode for i in loop) for loop in loops)
    return min((x for x in loops if sum(i.opcode == opcode for i in x) == most), key=len)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("stem", "kernel", "opcodes", "count"),
    [
        ("launch", "barriers", {"BAR"}, 64),
        ("atomics", "atom_global", {"ATOMG", "ATOM"}, 16),
        ("atomics", "red_global", {"RED", "REDG"}, 16),
        ("atomics", "atom_shared", {"ATOMS"}, 16),
        ("contention", "contend_cta", {"RED", "REDG"}, 16),
        ("contention", "contend_gpu", {"RED", "REDG"}, 16),
        ("contention", "contend_sys", {"RED", "REDG"}, 16),
        ("outstanding", "stores", {"STG"}, 32),
        *(("branches", f"branch_loop_{n}", {"FFMA"}, n) for n in (8, 16, 32, 64)),
        *(("outstanding", f"chains_{n}", {"LDG"}, n) for n in (1, 2, 3, 4, 6, 8, 12, 16, 24)),
    ],
)
def test_barriers_and_atomics_stay_as_written(stem, kernel, opcodes, count, target):
    loop = longest_loop(functions(stem, target)[kernel])
    found = Counter(i.opcode for i in loop)
    assert sum(found.pop(opcode, 0) for opcode in opcodes) == count
    assert set(found) <= LOOP


MATRIX_OPCODES = {"f16": "HMMA", "bf16": "HMMA", "tf32": "HMMA", "s8": "IMMA", "f64": "DMMA"}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", SHAPES)
def test_the_loops_of_matrices_are_instructions_of_the_shape_alone(name, target):
    if not SHAPES[name].is_on(capability(target)):
        assert not any(kernel.startswith(f"{name}_") for kernel in functions("tensor", target))
        return
    shape, _, kind = name.replace("_in_f16", "").partition("_")
    rows, columns, depth = shape[1:].replace("n", " ").replace("k", " ").split()
    opcode = MATRIX_OPCODES.get(kind, "QMMA")
    for chains, steps in ((1, 16), (1, 48), (2, 16), (4, 16)):
        function = functions("tensor", target)[f"{name}_{chains}x{steps}"]
        loop = [i for i in longest_loop(function) if not is_delay(i)]
        matrix = [i for i in loop if i.opcode == opcode]
        assert len(matrix) == chains * steps
        assert {i.modifiers[0] for i in matrix} <= {
            rows + columns + depth,
            f"{rows}x{columns}x{depth}",
        }
        assert {i.opcode for i in loop if i not in matrix} <= LOOP
        assert len(loop) - len(matrix) <= MOST_LOOP_INSTRUCTIONS
        # What one adds to is what the one before of its chain came to.
        for before, after in zip(matrix, matrix[chains:], strict=False):
            assert after.operands[3].register == before.operands[0].register


@pytest.mark.parametrize("name", GROUP_SHAPES)
def test_the_loops_of_groups_are_their_instructions_and_one_wait(name):
    """Only compute capability 9.0 has them; "serialized" code would wait after each."""
    assert "serializ" not in compiled("wgmma", "sm_90").log
    kind, _, columns = name.partition("_n")
    opcode = {"s8": "IGMMA", "e4m3": "QGMMA"}.get(kind, "HGMMA")
    for steps in (8, 24):
        loop = longest_loop(functions("wgmma", "sm_90")[f"{name}_x{steps}"])
        matrix = [i for i in loop if i.opcode == opcode]
        assert len(matrix) == steps
        assert all(i.modifiers[0].startswith(f"64x{columns}x") for i in matrix)
        found = Counter(i.opcode for i in loop if i.opcode != opcode)
        assert found.pop("WARPGROUP") == 2
        assert set(found) <= LOOP
        assert len({i.operands[0].register for i in matrix}) == 1


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("kernel", "counts"),
    [
        *(
            (f"mix_{r}x{w}", {"LDG": r, "STG": w})
            for r, w in ((1, 3), (1, 2), (1, 1), (2, 1), (3, 1))
        ),
        *((f"random_read_{n}", {"LDG": n}) for n in (1, 4)),
        ("stride_l1", {"LDG": 8}),
        ("stride_shared", {"LDS": 8}),
    ],
)
def test_a_pattern_accesses_memory_as_often_as_it_says(kernel, counts, target):
    opcode, count = next(iter(counts.items()))
    loop = shortest_of(functions("patterns", target)[kernel], opcode, count)
    found = Counter(i.opcode for i in loop if i.opcode in LOADS_OR_STORES)
    assert found == counts


@pytest.mark.parametrize("target", TARGETS)
def test_random_stores_are_four_in_a_step(target):
    loop = longest_loop(functions("writes", target)["random_write"])
    assert Counter(i.opcode for i in loop if i.opcode in LOADS_OR_STORES) == {"STG": 4}


@pytest.mark.parametrize("target", TARGETS)
def test_scopes_and_conflicts_are_those_asked_for(target):
    for scope, names in (("cta", {"CTA", "SM"}), ("gpu", {"GPU"}), ("sys", {"SYS"})):
        loop = longest_loop(functions("contention", target)[f"contend_{scope}"])
        additions = [i for i in loop if i.opcode in ("RED", "REDG")]
        assert all(names & set(i.modifiers) for i in additions)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("length", [8, 24])
def test_every_way_of_a_divergent_branch_has_its_own_instructions(length, target):
    """Were two ways merged, or a way executed without a branch, lanes would not wait."""
    loop = longest_loop(functions("branches", target)[f"diverge_{length}"])
    additions = [i for i in loop if i.opcode == "FFMA"]
    assert len(additions) == 32 * length
    assert not any(i.guard for i in additions)
    constants = Counter(str(i.operands[3]) for i in additions)
    assert len(constants) == 32
    assert set(constants.values()) == {length}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kernel", ["chains_1", "chains_24", "l2_slices"])
def test_the_clock_stops_after_the_last_load_has_come_back(kernel, target):
    """Between the loop and the clock stands a way out that needs what the loads came to."""
    function = functions("chase" if kernel == "l2_slices" else "outstanding", target)[kernel]
    at_load = max(i.index for i in function.instructions if i.opcode == "LDG")
    clock = next(
        i.index
        for i in function.instructions[at_load:]
        if i.opcode in ("CS2R", "CS2UR") and "CLOCK" in str(i)
    )
    between = function.instructions[at_load:clock]
    assert any(i.opcode == "EXIT" and i.guard for i in between)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("count", [1, 2, 3, 4, 6, 8, 12, 16, 24])
def test_chains_side_by_side_do_not_depend_on_each_other(count, target):
    function = functions("outstanding", target)[f"chains_{count}"]
    loads = [i for i in shortest_of(function, "LDG", count) if i.opcode == "LDG"]
    results = [i.operands[0].register for i in loads]
    assert len(set(results)) == count
    assert [i.operands[1].registers[0].register for i in loads] == results


@pytest.mark.parametrize(
    ("target", "stems"), [("sm_90", ("wgmma", "tensor")), ("sm_100", ("tcgen05", "tensor"))]
)
def test_a_chip_launches_all_that_only_it_has(target, stems):
    """With arguments as wide as the parameters of the compiled kernels."""
    fake = FakeGpu(known_chip(capability(target)))
    session = s.Session(Gpu(declared(fake.driver())), EMPTY_CODE, True)
    for name in measure.BENCHMARKS:
        if name.startswith(("wgmma.", "tensor.", "tcgen05.")):
            measure.run_benchmark(session, name)
    for stem in stems:
        kernels = read_cubin(compiled(stem, target).cubin, name=stem).kernels.values()
        assert kernels
        assert {kernel.name for kernel in kernels} <= set(fake.kernels)
        for kernel in kernels:
            letters = SIGNATURE_OF[FakeGpu._family(kernel.name)]
            sizes = [ctypes.sizeof(CTYPE[letter]) for letter in letters]
            assert [p.size_bytes for p in kernel.parameters] == sizes, kernel.name


@pytest.mark.parametrize("target", TARGETS)
def test_every_block_that_is_launched_fits_the_registers_of_the_chip(target):
    """Else the driver refuses the launch, which costs the benchmark."""
    fake = FakeGpu(known_chip(capability(target)))
    for stem in FILES:
        kernels = read_cubin(compiled(stem, target).cubin, name=stem).kernels
        fake.registers |= {name: kernel.resources.registers for name, kernel in kernels.items()}
    session = s.Session(Gpu(declared(fake.driver())), EMPTY_CODE, False)
    for name, benchmark in measure.BENCHMARKS.items():
        samples = list(benchmark(session))
        if name.startswith("tensor.") and samples:
            assert max(s["warps"] for s in samples) >= 16
            assert max(s["chains"] for s in samples if s["warps"] >= 8) == 4


@pytest.mark.parametrize("name", THREAD_SHAPES)
def test_the_chains_of_a_thread_are_its_instructions_and_one_wait(name):
    """Only compute capability 10.x has them, in code for all of its chips."""
    assert b"tcgen05_f16" not in compiled("tcgen05", "sm_90").cubin
    opcode = "UTCQMMA" if "e4m3" in name else "UTCHMMA"
    for steps in (16, 48):
        function = functions("tcgen05", "sm_100")[f"{name}_x{steps}"]
        clocks = [i.index for i in function.instructions if "SR_CLOCKLO" in str(i)]
        between = function.instructions[clocks[0] : clocks[1]]
        found = Counter(i.opcode for i in between)
        assert (found[opcode], found["UTCBAR"]) == (steps, 1)
        assert sum("TRYWAIT" in i.modifiers for i in between) >= 1
        matrix = [i for i in between if i.opcode == opcode]
        assert len({str(i.operands[2]) for i in matrix}) == 1, "not one accumulator"


@pytest.mark.parametrize("is_late", [False, True])
def test_what_comes_from_dram_is_not_left_over_in_l2(monkeypatch, is_late):
    """The stand-in answers like L2 where an earlier launch has loaded what is asked for, such as
    one that is repeated because it was handed over too late."""
    if is_late:
        monkeypatch.setattr(s, "_HELD_NS", 1)
    chip = known_chip()
    chip.l2_bytes = 64 << 20  # far more than a chase touches
    session = s.Session(Gpu(declared(FakeGpu(chip).driver())), EMPTY_CODE, True)
    for name in ("chase", "cache_sizes"):
        for sample in measure.run_benchmark(session, name)["samples"]:
            if sample["footprint_bytes"] >= 2 * chip.l2_bytes:
                latencies = [cycles / sample["hops"] for cycles in sample["warp_cycles"]]
                assert latencies == pytest.approx([chip.dram] * len(latencies), rel=0.01), name
    assert session.evicting_bytes() >= 4 * chip.l2_bytes
    far = [
        s
        for s in measure.run_benchmark(session, "in_flight.warp")["samples"]
        if s["level"] == "dram"
    ]
    assert min(far[0]["warp_cycles"]) / far[0]["hops"] == pytest.approx(chip.dram, rel=0.01)


def nvcc() -> str | None:
    """NVIDIA's compiler where it is installed, as a program or as a Python package."""
    found = sorted(Path(sys.prefix).glob("lib/python*/site-packages/nvidia/*/bin/nvcc"))
    return shutil.which("nvcc") or (str(found[0]) if found else None)


@pytest.mark.skipif(nvcc() is None or shutil.which("cc") is None, reason="needs nvcc")
@pytest.mark.parametrize(("major", "files"), [(9, ("wgmma", "launch")), (8, ("patterns",))])
def test_nvcc_makes_the_same_kernels_of_the_sources_in_the_pack(tmp_path, major, files):
    """It compiles with headers of its own, where the driver is too old for the pack's code."""
    sources = {stem: FILES[stem].read_bytes() for stem in files}
    made = compile_here(str(nvcc()), sources, tmp_path, {"major": major, "minor": 0})
    assert set(made.cubins) == set(files)
    for stem in files:
        ours = read_cubin(compiled(stem, f"sm_{major}0").cubin, name=stem)
        theirs = read_cubin(made.cubins[stem], name=stem)
        assert ours.kernels and set(ours.kernels) == set(theirs.kernels)
