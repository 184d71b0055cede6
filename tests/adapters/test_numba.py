"""Numba's functions: the words that stand for arrays, and what the code computes."""

from __future__ import annotations

import numpy as np
import pytest
from tests.execution.machine_code import image
from tests.kept import CACHE

import kernelcast as kc
from kernelcast.api import Build
from kernelcast.errors import CompileError, InputError

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed (kernelcast[numba])")
from numba import cuda

from kernelcast.adapters.numba import forecast

BUILD = Build(cache=CACHE)


@cuda.jit
def transposed(x, y, factor, shift):
    i, j = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        y[j, i] = x[i, j] * factor + shift[1]


@cuda.jit
def reversed_tail(x, y):
    i = cuda.grid(1)
    if i < y.size:
        y[i] = x[-1 - i]


@cuda.jit(fastmath=True)
def divided(x, y):
    i = cuda.grid(1)
    y[i] = y[i] / x[i]


def test_arrays_of_two_dimensions_and_tuples():
    x = np.random.default_rng(1).random((40, 56), dtype=np.float32)
    y = np.zeros((56, 40), np.float32)
    case = forecast(transposed, (3, 4), (16, 16), [x, y, np.float32(2), (5, 7)], build=BUILD).case
    assert case.kernel.isa == "sass"
    assert (case.launch.grid, case.launch.block) == ((3, 4, 1), (16, 16, 1))
    made = np.frombuffer(image(case.kernel, case.launch)["y"], np.float32).reshape(56, 40)
    assert np.array_equal(made, 2 * x.T + np.float32(7))


def test_the_words_of_an_array():
    case = forecast(transposed, 1, 1, [kc.f32(4, 8), kc.f32(8, 4), 1.0, (1, 2)], build=BUILD).case
    words = list(case.launch.args.items())[:9]
    assert [value for name, value in words if name != "x"] == [0, 0, 32, 4, 4, 8, 32, 4]
    assert words[4] == ("x", kc.f32(4, 8))
    assert [p.label for p in case.kernel.parameters[-3:]] == ["factor", "shift[0]", "shift[1]"]


@cuda.jit
def moved(particles, masses):
    i = cuda.grid(1)
    if i < particles.size:
        particles[i].x += particles[i].speed
        masses[i] = particles[i].mass


def test_arrays_in_the_order_of_fortran():
    x = np.asfortranarray(np.random.default_rng(2).random((40, 56), dtype=np.float32))
    y = np.zeros((56, 40), np.float32, order="F")
    case = forecast(transposed, (3, 4), (16, 16), [x, y, np.float32(2), (5, 7)], build=BUILD).case
    made = np.frombuffer(image(case.kernel, case.launch)["y"], np.float32)
    assert np.array_equal(made.reshape((56, 40), order="F"), 2 * x.T + np.float32(7))


def test_records_are_bytes():
    record = np.dtype([("x", np.float32), ("speed", np.float32), ("mass", np.float64)])
    particles = np.zeros(100, record)
    particles["x"], particles["speed"], particles["mass"] = 1, np.arange(100), np.arange(100) / 2
    given = [particles, kc.f64(100)]
    case = forecast(moved, 1, 128, given, build=BUILD).case
    left = image(case.kernel, case.launch)
    assert np.array_equal(np.frombuffer(left["masses"], np.float64), particles["mass"])
    made = np.frombuffer(left["particles"], record)
    assert np.array_equal(made["x"], 1 + particles["speed"])


def test_indices_from_the_end_and_plain_functions():
    x = np.arange(100, dtype=np.int64)
    for function in (reversed_tail, reversed_tail.py_func):
        case = forecast(function, 1, 128, [x, kc.s64(100)], "rtx-4090", build=BUILD).case
        made = np.frombuffer(image(case.kernel, case.launch)["y"], np.int64)
        assert np.array_equal(made, x[::-1])


def test_options_of_the_decorator_count():
    def instructions(function):
        given = [kc.f32(128, fill="ones"), kc.f32(128)]
        return len(forecast(function, 1, 128, given, build=BUILD).case.kernel.instructions)

    assert instructions(divided) < instructions(divided.py_func)


def test_a_report_names_the_function_and_its_lines():
    text = str(forecast(reversed_tail, 1, 128, [kc.f32(64), kc.f32(64)], build=BUILD))
    assert text.partition("<<<")[0].endswith("reversed_tail")
    assert "test_numba.py:" in text


@pytest.mark.parametrize(
    ("function", "args", "error", "message"),
    [
        (reversed_tail, [kc.f32(4)], InputError, "1 arguments for 2 parameters; give x, y"),
        (reversed_tail, [kc.f32(4), kc.bf16(4)], InputError, "Numba has no arrays of bf16"),
        (reversed_tail, [object(), kc.f32(4)], InputError, "x: object is no argument of Numba's"),
        (
            reversed_tail,
            [np.zeros((8, 8))[::2], kc.f32(4)],
            InputError,
            "x: the array's elements do not lie one behind the other; give numpy.ascontiguousarray",
        ),
        (reversed_tail, [kc.f32(4, 4), kc.f32(4)], CompileError, "Numba does not compile it"),
        (5, [], InputError, "5 is no function; decorate one with @cuda.jit"),
    ],
)
def test_bad_input_is_one_clear_line(function, args, error, message):
    with pytest.raises(error, match=message) as caught:
        forecast(function, 1, 32, args, build=BUILD)
    assert "\n" not in str(caught.value)


def test_a_chip_that_numba_does_not_know():
    with pytest.raises(CompileError, match=r"Numba does not compile it: .*1\.3"):
        forecast(reversed_tail, 1, 32, [kc.f32(4), kc.f32(4)], "gtx-280", build=BUILD)
