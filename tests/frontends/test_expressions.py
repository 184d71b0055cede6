from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcast.errors import InputError, NotFoundError
from kernelcast.frontends.expressions import FUNCTIONS, MAX_BITS, evaluate, split_expressions

NAMES = {"n": 1000, "m": 7, "ratio": 0.25}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 << 20", 1048576),
        ("cdiv(n, 256)", 4),
        ("cdiv(1024, 256)", 4),
        ("cdiv(-7, 2)", -3),
        ("-2 ** 2", -4),
        ("2 ** -1", 0.5),
        ("2 ** 3 ** 2", 512),
        ("7 // 2 * 2", 6),
        ("-7 // 2", -4),
        ("-7 % 3", 2),
        ("1 + 2 << 3", 24),
        ("1 | 2 ^ 3 & 1", 3),
        ("~n", -1001),
        ("- - +3", 3),
        ("n < 1001", 1),
        ("n == 1001", 0),
        ("(n > 3) * 8", 8),
        ("0x1F + 0b101", 36),
        ("1_000_000", 1000000),
        (".5 + 1. + 1e3", 1001.5),
        ("min(3, n, m)", 3),
        ("max(ceil(2.1), floor(3.9), round(2.5))", 3),
        ("log2(8) + sqrt(16) + abs(-1)", 8.0),
        ("  n  ", 1000),
        ("n * ratio", 250.0),
    ],
)
def test_values_are_pythons(text: str, value: float) -> None:
    result = evaluate(text, NAMES)
    assert result == value
    assert type(result) is type(value)


@pytest.mark.parametrize(
    ("text", "column", "what"),
    [
        ("", 1, "expected a value at the end"),
        ("   ", 1, "expected a value at the end"),
        ("1 +", 4, "expected a value at the end"),
        ("1 + * 2", 5, "expected a value, found '*'"),
        ("(1", 3, "expected ')' at the end"),
        ("1)", 2, "unexpected ')'"),
        ("1 2", 3, "unexpected '2'"),
        ("n $ 2", 3, "unexpected '$'"),
        ("1 < 2 < 3", 7, "unexpected '<'"),
        ("007", 1, "leading zero"),
        ("1__0", 1, "not a number"),
        ("1 / 0", 3, "division by zero"),
        ("n % (m - 7)", 3, "division by zero"),
        ("sqrt(-1)", 1, "cannot be computed"),
        ("(-8) ** 0.5", 6, "root of a negative"),
        ("1.5 << 2", 5, "needs integers"),
        ("1 << -1", 3, "cannot be computed"),
        ("1e300 * 1e300", 7, "finite"),
        ("1e999", 1, "finite"),
        ("min(1)", 1, "min takes 2 or more"),
        ("cdiv(1, 2, 3)", 1, "cdiv takes 2"),
        ("sqrt()", 1, "sqrt takes 1"),
        ("min(1, )", 8, "expected a value"),
        ("min", 1, "expected '('"),
        ("n.real", 2, "unexpected '.'"),
        ("'a'", 1, "unexpected"),
        ("(1 +", 5, "expected a value at the end"),
        ("min(1 2)", 5, "an operator or a comma is missing"),
        ("2 * lambda", 5, "'lambda' cannot be a name"),
        ("2 * n(1)", 5, "n is a number, not a function"),
        ("min(n=1)", 1, "not arithmetic"),
    ],
)
def test_an_error_points_at_the_column(text: str, column: int, what: str) -> None:
    with pytest.raises(InputError) as caught:
        evaluate(text, NAMES, where="app.toml:3: grid")
    assert what in caught.value.what
    assert caught.value.where.startswith("app.toml:3: grid: ")
    assert caught.value.where.endswith(f"column {column}")


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(NotFoundError, match="did you mean ratio"):
        evaluate("2 * ratoi", NAMES)
    with pytest.raises(NotFoundError, match="did you mean cdiv"):
        evaluate("cdvi(n, 2)", NAMES)


@pytest.mark.parametrize(
    "text",
    [
        "2 ** 2 ** 2 ** 2 ** 2 ** 2",
        "10 ** 1000000000",
        "(-3) ** 99999999999",
        "1 << 1000000000000",
        "9" * 900,
        "ceil(1e200)",
        " * ".join(["18446744073709551616"] * 3),
    ],
)
def test_a_number_too_large_is_refused_at_once(text: str) -> None:
    with pytest.raises(InputError):
        evaluate(text, {})


def test_the_largest_integer_is_the_bound_itself() -> None:
    assert evaluate(f"2 ** {MAX_BITS - 1}", {}) == 1 << (MAX_BITS - 1)
    with pytest.raises(InputError, match=f"{MAX_BITS} bits"):
        evaluate(f"2 ** {MAX_BITS}", {})


@pytest.mark.parametrize("text", ["(" * 400 + "1" + ")" * 400, "-" * 900 + "1", "2" + "**2" * 300])
def test_nesting_is_bounded(text: str) -> None:
    with pytest.raises(InputError):
        evaluate(text, {})


def test_twenty_parentheses_are_not_too_many() -> None:
    assert evaluate("(" * 20 + "1" + ")" * 20, {}) == 1


def test_length_is_bounded() -> None:
    with pytest.raises(InputError, match="more than 1000 characters"):
        evaluate("1" + " + 1" * 300, {})


numbers = st.one_of(
    st.integers(0, 100).map(str),
    st.floats(0, 100, allow_nan=False).map(repr).filter(lambda text: "e-" not in text),
    st.sampled_from(list(NAMES)),
)


def _combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operators = ["+", "-", "*", "/", "//", "%", "<<", ">>", "&", "|", "^", "**"]
    comparisons = ["<", "<=", ">", ">=", "==", "!="]
    return st.one_of(
        st.tuples(inner, st.sampled_from(operators), inner).map(" ".join),
        st.tuples(inner, st.sampled_from(comparisons), inner).map(lambda t: f"({' '.join(t)})"),
        st.tuples(st.sampled_from(["-", "+", "~", "- -"]), inner).map("".join),
        inner.map(lambda text: f"({text})"),
        st.tuples(st.sampled_from(["abs", "ceil", "floor", "round"]), inner).map(
            lambda t: f"{t[0]}({t[1]})"
        ),
        st.tuples(st.sampled_from(["min", "max", "cdiv"]), inner, inner).map(
            lambda t: f"{t[0]}({t[1]}, {t[2]})"
        ),
    )


@given(st.recursive(numbers, _combined, max_leaves=8))
def test_every_expression_has_the_value_python_gives_it(text: str) -> None:
    functions = {name: function for name, (_, _, function) in FUNCTIONS.items()}
    try:
        result = evaluate(text, NAMES)
    except InputError:
        return  # whether errors are the right ones, the tests above say
    expected = eval(text, {"__builtins__": {}}, {**functions, **NAMES})
    assert result == expected
    assert isinstance(result, float) == isinstance(expected, float)


@given(st.integers(-1000, 1000), st.integers(1, 100))
def test_cdiv_is_the_least_multiple_that_covers(dividend: int, divisor: int) -> None:
    result = evaluate(f"cdiv({dividend}, {divisor})", {})
    assert (result - 1) * divisor < dividend <= result * divisor


@given(st.text(max_size=60) | st.text("0123456789n()+-*/%<>=&|^~,. e_xmincdv", max_size=60))
def test_no_text_gives_anything_but_a_finite_number_or_an_input_error(text: str) -> None:
    try:
        result = evaluate(text, NAMES)
    except InputError as error:
        assert "column" in error.where
    else:
        assert math.isfinite(result)
        assert type(result) in (int, float)


@given(st.lists(st.sampled_from(["n", "f(a, b)", "(a)", "min(cdiv(n, 2), m)", ""]), min_size=1))
def test_lists_are_split_outside_parentheses_only(parts: list[str]) -> None:
    assert split_expressions(",".join(parts)) == parts


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "n.__class__",
        "(n).real",
        "[1][0]",
        "n[0]",
        "lambda: 1",
        "(n := 3)",
        "1 if n else 2",
        "1if n else 2",
        "n and m",
        "not n",
        "n in m",
        "n is m",
        "1 < n in m",
        "min(*n)",
        "min(n, m, key=n)",
        "min(n for n in m)",
        "n()",
        "abs(abs)(1)",
        "(lambda)(1)",
        "await n",
        "(yield)",
        "f'{n}'",
        "True",
        "None",
        "1j",
        "...",
        "()",
        "(1, 2)",
        "1, 2",
        "n @ m",
        "n # m",
        "n; m",
        "n \\\n + m",
        "\uff4e",
        "\u0663",
        "n\x00",
        "not " * 240 + "n",
        "n if n else " * 80 + "n",
        "-" * 999 + "n",
    ],
)
def test_no_more_of_python_is_understood(text: str) -> None:
    with pytest.raises(InputError):
        evaluate(text, NAMES)


def test_a_long_sum_is_not_nested() -> None:
    assert evaluate("+".join(["1"] * 500), {}) == 500


def test_an_expression_may_go_over_lines() -> None:
    assert evaluate(" 1 +\n\t2", {}) == 3


def test_columns_count_from_the_start_of_what_was_given() -> None:
    with pytest.raises(InputError, match="column 8"):
        evaluate("   (1) / 0", {})
