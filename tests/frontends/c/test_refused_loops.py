"""What becomes no kernel: one line with file, line and reason, and the rest is still answered."""

from __future__ import annotations

import sys

import pytest
from tests.frontends.c.running import NESTS, program

from kernelcast.errors import InputError, LaunchError, NotFoundError, ToolError
from kernelcast.frontends.c.program import CProgram, LoopChoice, read_program
from kernelcast.ir import Array, Fill

REASONS = {
    4: "the header not_there.h is not there",
    8: "iteration t = 0 reads an element of A that iteration t = 1 writes in line 11",
    19: "iteration i = 2 reads an element of y that iteration i = 1 writes in line 20",
    25: "iteration i = 0 reads an element of bins that iteration i = 1 writes in line 26",
    31: "the arrays x and y may overlap",
    39: "a subscript of x multiplies loop variables",
    45: "a while loop, whose number of iterations is not known",
    52: "the loop has no end",
    59: "printf has no body here",
    62: "factorial calls itself",
    77: "the loop over i is left before its end",
    85: "NOT_THERE is not declared",
    93: "last goes from one iteration to the next",
    100: "the pointer x is moved",
    106: "not C99: a mistake before 'x'",
}


def read(text: str) -> CProgram:
    return read_program(text, "given.c")


def test_every_loop_is_refused_with_its_line_and_reason():
    found = {r.where.line: r for r in program("refused.c").refusals}
    for refusal in found.values():
        assert "\n" not in str(refusal)
        assert str(refusal).startswith(str(NESTS / "refused.c"))
    lines = {line: refusal.reason for line, refusal in found.items()}
    assert {line: lines[line][: len(REASONS[line])] for line in lines} == REASONS


def test_the_rest_of_the_file_is_answered():
    (found,), remarks = program("refused.c").launches(LoopChoice(sizes={"n": 5, "steps": 1}))
    assert [launch.kernel for launch in found.launches] == ["good_111"]
    assert len(remarks) == len(REASONS)


@pytest.mark.parametrize("function", ["scan", "histogram", "broken"])
def test_a_refused_function_that_is_asked_for_is_an_error(function):
    with pytest.raises(InputError) as caught:
        program("refused.c").launches(LoopChoice((function,), sizes={}))
    assert caught.value.where


def test_an_unknown_function_or_size_names_the_nearest():
    with pytest.raises(NotFoundError, match="did you mean gemm"):
        program("algebra.c").launches(LoopChoice(("gem",)))
    with pytest.raises(NotFoundError, match="did you mean nk"):
        program("algebra.c").launches(LoopChoice(("gemm",), sizes={"nkk": 3}))


@pytest.mark.parametrize(
    ("sizes", "reason"),
    [
        ({"ni": 4, "nj": 4}, "nk is not given"),
        ({"ni": 4.5, "nj": 4, "nk": 4}, "not a whole number"),
        ({"ni": 100_000, "nj": 100_000, "nk": 1}, "more elements than an int counts"),
    ],
)
def test_sizes_that_cannot_be_used(sizes, reason):
    with pytest.raises(LaunchError, match=reason):
        program("algebra.c").launches(LoopChoice(("gemm",), sizes=sizes))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("for (int i = 0; i < n; i++) x[i - 1] = 0;", "reaches -1, outside of it"),
        ("float a[8]; for (int i = 0; i < n; i++) { a[i] = x[i]; }", "a of 8 elements reaches 9"),
        ("for (int i = 0; i < n * 1000000000; i++) x[i] = 0;", "leaves the range of int"),
        ("for (int i = 0; i < n / k; i++) x[i] = 0;", "division by zero"),
        ("for (short i = 0; i < 4000 * n; i++) x[i] = 0;", "its type ends at 32767"),
        ("for (unsigned i = n; i >= 0; i--) x[i] = 0;", "its type ends at 0"),
    ],
)
def test_launches_never_leave_their_arrays(body, reason):
    found = read(f"void f(int n, int k, float *x) {{ {body} }}")
    with pytest.raises(LaunchError, match=reason):
        found.launches(LoopChoice(sizes={"n": 10, "k": 0}))


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("struct p { float x; };\nvoid f(int n, struct p *a) {\nfor (int i = 0; i < n; i++)\n"
         "a[i].x = 0;\n}", 4, "structure"),
        ("void f(int n, float **a) {\nfor (int i = 0; i < n; i++)\na[i][i] = 0;\n}", 3, "pointers"),
        ("void f(int n, float *a) {\nfor (int i = 1; i < n; i *= 2)\na[i] = 0;\n}", 2, "steps"),
        ("void f(int n, float *a) {\nfor (int i = 0; i > -n; i++)\na[i] = 0;\n}", 2, "away from"),
        ("void f(int n, float *a) {\nfor (int i = 0; i < n; i++) {\na[i] = 0; i++;\n}}", 2, "own"),
        ("void f(int n, float *a) {\nfor (int i = 0; i < n; i++)\na[--n] = 0;\n}", 2, "bounds"),
        ("int g(int i);\nvoid f(float *a) {\nfor (int i = 0; i < 9; i++)\na[i] = g(i);\n}",
         4, "no body"),
        ("void f(int n, float *a) {\nint i;\nfor (i = 0; i < n; i++)\na[i] = 0;\na[0] = i;\n}",
         3, "after the loop"),
        ("void f(int n, float *a) {\nfloat *p = a + 1;\nfor (int i = 0; i < n; i++)\np[i] = 0;\n}",
         4, "where the pointer p leads"),
        ("void f(int n, float *a) {\nfor (int i = 0; i < n; i++) {\nint new = i; a[new] = 0;\n}}",
         3, "a word of C++"),
        ("float *x, *y;\nvoid f(int n) {\nfor (int i = 0; i < n; i++)\nx[i] = y[i];\n}",
         3, "may overlap"),
    ],
)  # fmt: skip
def test_loops_that_no_grid_can_run(text, line, reason):
    (refusal,) = read(text).refusals
    assert refusal.where.line == line
    assert reason in refusal.reason


def test_what_no_loop_uses_may_be_anything():
    text = (
        "int main(int argc, char **argv) {\nfloat a[9];\nfor (int i = 0; i < 9; i++)\na[i] = 0;\n}"
    )
    (found,), _ = read(text).launches()
    assert found.function == "main"
    assert not read(text).refusals


def test_an_array_that_is_given_is_as_long_as_its_use():
    choice = LoopChoice(("saxpy",), sizes={"n": 100}, arrays={"x": Array("f32", (99,), Fill())})
    with pytest.raises(LaunchError, match="x has 396 bytes, of which loops use 400"):
        program("others.c").launches(choice)


@pytest.mark.parametrize(
    ("block", "wanted"), [((64,), (64, 1)), ((16, 8), (16, 8)), (None, (32, 8))]
)
def test_two_loops_take_a_block_of_one_or_two_dimensions(block, wanted):
    (found,), _ = program("others.c").launches(
        LoopChoice(("transpose",), sizes={"n": 9, "m": 9}, block=block)
    )
    assert found.launches[0].block[:2] == wanted


GATHER = """void f(int n, const int *restrict at, const float *restrict x, float *restrict y) {
for (int i = 0; i < n; i++)
y[i] = x[at[i]];
}"""


def test_where_data_say_which_element_an_array_has_a_length():
    with pytest.raises(LaunchError, match=r"how far a subscript of x reaches .* such as x\[n\]"):
        read(GATHER).launches(LoopChoice(sizes={"n": 10}))
    choice = LoopChoice(sizes={"n": 10}, arrays={"x": Array("f32", (33,), Fill())})
    (found,), remarks = read(GATHER).launches(choice)
    assert found.arrays["at"].fill.numbers[:2] == (0, 33)
    assert remarks == ("elements of at, which are subscripts, are drawn at random below 33",)


COUNTED = """void f(int n, const int *restrict count, const float a[n][40], float *restrict y) {
for (int i = 0; i < n; i++) {
float sum = 0;
for (int j = 0; j < count[i]; j++) sum += a[i][j];
y[i] = sum;
}
}"""


@pytest.mark.parametrize(("condition", "limit"), [("j < count[i]", 41), ("j <= count[i]", 40)])
def test_loops_whose_bounds_nobody_gives_end_with_what_they_go_through(condition, limit):
    """a[i][39] is the last of a row: counts are drawn up to 40, those of `<=` up to 39."""
    text = COUNTED.replace("j < count[i]", condition)
    (found,), remarks = read(text).launches(LoopChoice(sizes={"n": 9}))
    assert found.arrays["count"].fill.numbers[:2] == (0, limit)
    assert f"elements of count, which bound loops, are drawn at random below {limit}" in remarks


def test_long_rows_leave_bounds_below_100():
    text = COUNTED.replace("[40]", "[4000]")
    (found,), _ = read(text).launches(LoopChoice(sizes={"n": 9}))
    assert found.arrays["count"].fill.numbers[:2] == (0, 100)


def test_what_is_written_where_data_say_is_refused():
    (refusal,) = read(GATHER.replace("y[i] = x[at[i]]", "y[at[i]] = x[i]")).refusals
    assert "iteration i = 0 writes an element of y that iteration i = 1 writes" in refusal.reason


def test_a_file_without_loops_says_so():
    with pytest.raises(InputError, match="no loop"):
        read("int main(void) { return 0; }").launches()


def test_sizes_for_which_no_loop_runs_are_called_so():
    with pytest.raises(InputError, match="saxpy launches nothing for these sizes") as caught:
        program("others.c").launches(LoopChoice(("saxpy",), sizes={"n": 0}))
    assert caught.value.hint == "give larger sizes"


def test_a_line_without_a_loop_is_told_where_some_are():
    with pytest.raises(
        InputError, match=r"--loop 99: no loop there; those of saxpy are in line \d"
    ):
        program("others.c").launches(LoopChoice(("saxpy",), (99,), sizes={"n": 9}))


def test_a_size_of_a_function_that_does_not_parse_is_no_unknown_size():
    """The only function lacks its last brace: that is to be said, not that `n` is unknown."""
    broken = read("void f(int n, float *restrict a)\n{ for (int i = 0; i < n; i++ a[i] = 0; }\n")
    with pytest.raises(InputError, match="not C99") as caught:
        broken.launches(LoopChoice(sizes={"n": 3}))
    assert caught.value.where == "given.c:2"


def test_without_its_parser_a_c_file_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pycparser.c_parser", None)
    with pytest.raises(ToolError, match="pycparser is not installed") as caught:
        read("void other(int n, float *a)\n{ for (int i = 0; i < n; i++) a[i] = 1; }\n")
    assert caught.value.hint == 'install it: pip install "kernelcast[c]"'


def test_without_the_library_of_integer_sets_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "islpy", None)
    with pytest.raises(ToolError, match="islpy is not installed") as caught:
        read("void third(int n, float *a)\n{ for (int i = 0; i < n; i++) a[i] = 2; }\n")
    assert caught.value.hint == 'install it: pip install "kernelcast[c]"'
