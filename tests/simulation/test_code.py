"""Kernels as the simulation reads them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.simulation.programs import EXIT, Op, Setting, program

from kernelcast.ir import OpClass, Space
from kernelcast.machines.loader import load_machine
from kernelcast.simulation import layout

MACHINE = load_machine("h100-sxm")
LOAD = Op(OpClass.LOAD, 2, counter=2, space=Space.GLOBAL, reads="a", writes="b")


def rows(*ops: Op, control: bool = True):
    return Setting(MACHINE).code(program([*ops, EXIT], control=control))


@pytest.mark.parametrize(
    ("op", "kind", "pipe"),
    [
        (Op(OpClass.FP32), layout.ARITHMETIC, layout.FP32_PIPE),
        (Op(OpClass.INT), layout.ARITHMETIC, layout.INT_PIPE),
        (Op(OpClass.INT_MUL), layout.ARITHMETIC, layout.MULTIPLIERS),
        (Op(OpClass.BIT_COUNT), layout.ARITHMETIC, layout.SFU_PIPE),
        (Op(OpClass.FP64), layout.ARITHMETIC, layout.FP64_PIPE),
        (Op(OpClass.SFU), layout.ARITHMETIC, layout.SFU_PIPE),
        (Op(OpClass.REDUCE), layout.ARITHMETIC, layout.ADU_PIPE),
        (Op(OpClass.MATCH), layout.ARITHMETIC, layout.ADU_PIPE),
        (LOAD, layout.LOAD, layout.MEMORY_QUEUE),
        (Op(OpClass.STORE, space=Space.SHARED), layout.STORE, layout.MEMORY_QUEUE),
        (Op(OpClass.ATOMIC, space=Space.GLOBAL), layout.ATOMIC, layout.MEMORY_QUEUE),
        (Op(OpClass.LOAD, space=Space.GLOBAL, is_copy=True), layout.COPY, layout.MEMORY_QUEUE),
        (Op(OpClass.LOAD, space=Space.CONST, writes="a"), layout.CONSTANT, layout.NO_PIPE),
        (Op(OpClass.SHUFFLE, writes="a"), layout.SHUFFLE, layout.MEMORY_QUEUE),
        (Op(OpClass.BARRIER), layout.SYNCHRONISE, layout.NO_PIPE),
        (EXIT, layout.EXIT, layout.NO_PIPE),
    ],
)
def test_what_an_instruction_is_and_where_it_goes(op, kind, pipe):
    row = rows(op).table[0]
    assert (row["kind"], row["pipe"]) == (kind, pipe)


def test_control_codes_are_obeyed_where_there_are_some():
    code = rows(LOAD, Op(OpClass.FP32, 4, waits=(2, 5), reads="b", writes="c"))
    load, add = code.table[:2]
    assert code.registers == 0
    assert (load["stall"], load["result_counter"], load["sources_counter"]) == (2, 2, -1)
    assert (add["stall"], add["result_counter"], add["waits"]) == (4, -1, 1 << 2 | 1 << 5)
    assert load["reason"] == layout.LONG_SCOREBOARD


def test_else_registers_are_waited_for():
    code = rows(LOAD, Op(OpClass.FP32, reads="b", writes="c"), control=False)
    assert code.registers == 3
    named = [code.operands[row["first_read"] : row["end_written"]].tolist() for row in code.table]
    assert named == [[0, 1], [1, 2], []]
    assert (code.table["waits"] == 0).all() and (code.table["result_counter"] == -1).all()


@pytest.mark.parametrize(
    ("gpu", "op_class", "interval"),
    [
        ("h100-sxm", OpClass.FP32, 2.0),  # 128 lanes of four schedulers, in halves
        ("h100-sxm", OpClass.INT, 2.0),
        ("h100-sxm", OpClass.SFU, 8.0),
        ("h100-sxm", OpClass.REDUCE, 2.0),
        ("h100-sxm", OpClass.MATCH, 64.0),
        ("rtx-2080-ti", OpClass.FP32, 2.0),
        ("rtx-2080-ti", OpClass.FP64, 16.0),  # two lanes, which all schedulers share
        ("gtx-280", OpClass.FP32, 4.0),
    ],
)
def test_a_pipe_is_busy_for_as_long_as_its_width_takes(gpu, op_class, interval):
    setting = Setting(load_machine(gpu))
    code = setting.code(program([Op(op_class), EXIT]))
    assert code.table["interval"][0] == interval
    shared = np.flatnonzero(setting.hardware(code, 1)["of_sm"][0]).tolist()
    few = gpu in ("rtx-2080-ti", "gtx-280")
    assert shared == [*([layout.FP64_PIPE] if few else []), layout.ADU_PIPE]


def test_rows_of_accesses_are_found_by_instruction():
    generic = Op(OpClass.LOAD, space=Space.GENERIC, writes="b")
    code = rows(LOAD, generic, Op(OpClass.FP32), LOAD)
    assert code.table["row"].tolist()[:4] == [0, 1, 0, 5]
    assert code.table["is_generic"].tolist()[:4] == [0, 1, 0, 0]
