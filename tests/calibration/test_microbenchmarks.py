"""The machine code of the microbenchmarks: they measure what they say."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import pairwise

import pytest

from kernelcast.calibration.measure import OPERATIONS
from kernelcast.calibration.pack import TARGETS, compile_benchmark, source_files
from kernelcast.errors import ToolError
from kernelcast.isas.sass import SassFunction, parse_sass
from kernelcast.isas.sass.flow import flow_graph
from kernelcast.toolchain.nvdisasm import disassemble, nvdisasm_path
from kernelcast.toolchain.nvrtc import Compilation

FILES = {file.stem: file for file in source_files()}
READ_IN_FULL = ("sm_80", "sm_90", "sm_120")
LOOP = {"IADD3", "UIADD3", "IADD", "ISETP", "UISETP", "BRA", "VIADD"}
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
    "rsqrt": {"MUFU": 1},
    "exp2": {"MUFU": 1},
    "sin": {"FMUL": 1, "MUFU": 1},
    "shuffle": {"SHFL": 1},
}
MODIFIERS = {"rsqrt": "RSQ", "exp2": "EX2", "sin": "SIN"}
NEWER_NAMES = {"I2FP": "I2F", "HFMA2.MMA": "HFMA2"}


@cache
def compiled(stem: str, target: str) -> Compilation:
    return compile_benchmark(FILES[stem], target)


@cache
def functions(stem: str, target: str) -> dict[str, SassFunction]:
    try:
        nvdisasm_path()
    except ToolError as error:
        pytest.skip(str(error))
    listing = disassemble(compiled(stem, target).cubin)
    return dict(parse_sass(listing, stem).functions)


def longest_loop(function: SassFunction) -> list:
    """Instructions from the target of the longest backward branch to the branch."""
    graph = flow_graph(function)
    spans = [
        (graph.blocks[successor].start, block.end)
        for block in graph.blocks
        for successor in block.successors
        if successor <= block.index and block.index in graph.reachable
    ]
    loops = [function.instructions[start:end] for start, end in spans]
    # On compute capability 8.x a long loop is left by a guarded call to the code behind it.
    loops = [
        [i for i in loop if i.opcode != "NOP" and not (i.opcode == "CALL" and i.guard)]
        for loop in loops
    ]
    return max((loop for loop in loops if len({i.opcode for i in loop}) > 1), key=len)


def test_every_file_is_named_by_the_runner_and_says_what_it_follows():
    assert set(FILES) == {"arithmetic", "atomics", "bandwidth", "chase", "launch"}
    for file in FILES.values():
        text = file.read_text()
        assert "#include" not in text
        assert any(name in text for name in ("Volkov", "Wong", "Mei")), file.name


@pytest.mark.parametrize("target", TARGETS)
def test_every_file_compiles(target):
    for stem in FILES:
        made = compiled(stem, target)
        assert made.cubin[:4] == b"\x7fELF"
        assert "spill" not in made.log or " 0 bytes spill stores" in made.log


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("target", READ_IN_FULL)
def test_the_loops_hold_exactly_the_intended_instructions(operation, target):
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


@pytest.mark.parametrize("target", READ_IN_FULL)
@pytest.mark.parametrize(
    ("kernel", "opcode", "count"),
    [("chase_ca", "LDG", 32), ("chase_cg", "LDG", 32), ("chase_shared", "LDS", 32)],
)
def test_a_chase_is_loads_alone(kernel, opcode, count, target):
    loop = longest_loop(functions("chase", target)[kernel])
    found = Counter(i.opcode for i in loop)
    assert found[opcode] == count
    del found[opcode]
    assert set(found) <= LOOP
    loads = [i for i in loop if i.opcode == opcode]
    # Each load's result is the next one's address: nothing overlaps.
    for first, second in pairwise(loads):
        result = first.operands[0].register
        assert second.operands[1].registers[0].register == result


@pytest.mark.parametrize("target", READ_IN_FULL)
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


def longest_of(function: SassFunction, opcode: str) -> list:
    """The loop with the most instructions of that opcode."""
    graph = flow_graph(function)
    loops = [
        function.instructions[graph.blocks[s].start : block.end]
        for block in graph.blocks
        for s in block.successors
        if s <= block.index
    ]
    most = max(sum(i.opcode == opcode for i in loop) for loop in loops)
    return min((x for x in loops if sum(i.opcode == opcode for i in x) == most), key=len)


@pytest.mark.parametrize("target", READ_IN_FULL)
@pytest.mark.parametrize(
    ("stem", "kernel", "opcodes", "count"),
    [
        ("launch", "barriers", {"BAR"}, 64),
        ("atomics", "atom_global", {"ATOMG", "ATOM"}, 16),
        ("atomics", "red_global", {"RED", "REDG"}, 16),
        ("atomics", "atom_shared", {"ATOMS"}, 16),
    ],
)
def test_barriers_and_atomics_stay_as_written(stem, kernel, opcodes, count, target):
    loop = longest_loop(functions(stem, target)[kernel])
    found = Counter(i.opcode for i in loop)
    assert sum(found.pop(opcode, 0) for opcode in opcodes) == count
    assert set(found) <= LOOP
