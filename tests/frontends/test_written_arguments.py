from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcast.errors import InputError, NotFoundError
from kernelcast.frontends.arguments import parse_argument, parse_arguments, parse_array
from kernelcast.frontends.launches import make_launch
from kernelcast.ir import ELEMENT_BYTES, ArgumentList, Array, Fill, Structure

NAMES = {"n": 6, "m": 4}


@pytest.mark.parametrize("type_", sorted(ELEMENT_BYTES))
def test_every_element_type_is_understood(type_: str) -> None:
    assert parse_array(f"{type_}[n, m*2]", NAMES, where="x") == Array(type_, (6, 8))


@pytest.mark.parametrize(
    ("text", "fill"),
    [
        ("f32[n]", Fill()),
        ("f32[n] zeros", Fill("zeros")),
        ("f32[n] ones", Fill("ones")),
        ("f32[n] arange()", Fill("arange")),
        ("f32[n]random(7)", Fill("random", (7,))),
        ("f32[n] randint(-3, n + 1, 2)", Fill("randint", (-3, 7, 2))),
        ("f32[n] permutation(0)", Fill("permutation", (0,))),
        ('f32[n] file("data/a b.npy")', Fill("file", path="data/a b.npy")),
        ("f32[n] file('a.npy')", Fill("file", path="a.npy")),
    ],
)
def test_every_fill_is_understood(text: str, fill: Fill) -> None:
    assert parse_array(text, NAMES, where="x").fill == fill


@pytest.mark.parametrize(
    "text",
    ["f32[n] + 3", "f32[n]+n//2", "f32[n] random(1) + 3", "f32[n] file('a+b.npy') of x + m - 1"],
)
def test_a_pointer_may_point_into_its_array(text: str) -> None:
    array = parse_array(text, NAMES, where="x")
    assert (array.start, array.shape) == (3, (6,))
    assert parse_array(str(array), {}, where="x") == array


@pytest.mark.parametrize("start", ["-1", "7", "1.5"])
def test_a_pointer_beyond_its_array_is_refused(start: str) -> None:
    with pytest.raises(InputError, match=r"elements into"):
        parse_array(f"f32[n] + {start}", NAMES, where="x")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("f32[]", "expected a value"),
        ("f32[n,]", "expected a value"),
        ("f32[0]", "0, not a positive integer"),
        ("f32[n / 2]", "3.0, not a positive integer"),
        ("f32[-n]", "-6, not a positive integer"),
        ("f32[1 << 45]", "bytes"),
        ("f32[n", "not an array"),
        ("[n", "is not closed"),
        ("[n] n", "unexpected 'n'"),
        ("[n] * 0", "0 times a list"),
        ("{n}", "is not a field"),
        ("{n=1", "is not closed"),
        ("{n=1, n=2}", "given twice"),
        ("{n=1} * 2", "unexpected"),
        ("f32[n][m]", "not a fill"),
        ("f32[n] random", "takes 1 numbers, not 0"),
        ("f32[n] ones(1)", "takes 0 numbers, not 1"),
        ("f32[n] randint(0, 9)", "takes 3 numbers"),
        ("f32[n] randint(9, 9, 1)", "lo must be below hi"),
        ("f32[n] random(1.5)", "seed of random is 1.5"),
        ("f32[n] random(-1)", "seed of random is -1"),
        ("f32[n] file(a.npy)", "file needs a path"),
        ("f32[n] random(1) * 2", "not a fill"),
    ],
)
def test_a_wrong_array_is_named(text: str, what: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_argument(text, NAMES, where="saxpy.cu:7: args: x")
    assert what in caught.value.what
    assert caught.value.where.startswith("saxpy.cu:7: args: x")


def test_a_wrong_type_or_fill_suggests_the_nearest() -> None:
    with pytest.raises(NotFoundError, match="did you mean f32"):
        parse_argument("f33[n]", NAMES, where="x")
    with pytest.raises(NotFoundError, match="did you mean permutation"):
        parse_argument("f32[n] permute(1)", NAMES, where="x")


def test_names_stand_above_earlier_arguments() -> None:
    written = {"n": "m", "m": "n", "k": "n + m", "late": "k * 2"}
    assert parse_arguments(written, NAMES, where="") == {"n": 4, "m": 6, "k": 10, "late": 20}


def test_numbers_among_arguments_serve_others() -> None:
    """Wrong if an array in front of its length cannot use it, or moves behind it."""
    array = Array("f32", (1024, 2), Fill("random", (1,)))
    for labels in ("nx", "xn"):
        written = {"n": "1 << 10", "x": "f32[n, 2] random(1)"}
        values = parse_arguments({name: written[name] for name in labels}, {}, where="--arg ")
        assert values == {"n": 1024, "x": array}
        assert list(values) == list(labels)
    with pytest.raises(InputError, match=r"--arg m: .*unknown name"):
        parse_arguments({"m": "n + 1", "n": "4"}, {}, where="--arg ")


def test_a_fill_alone_is_told_how_arrays_are_written() -> None:
    with pytest.raises(InputError, match=r"names no type or length; write it as TYPE\[dims\]"):
        parse_argument("zeros(n, f32)", NAMES, where="x")
    assert parse_argument("ones", {"ones": 3}, where="x") == 3


def test_what_is_neither_number_nor_text_is_refused() -> None:
    for value in ([None], {"a": None}, None):
        with pytest.raises(InputError, match="is no argument"):
            parse_argument(value, {}, where="x")


@given(
    st.sampled_from(sorted(ELEMENT_BYTES)),
    st.lists(st.integers(1, 9), min_size=1, max_size=3),
    st.sampled_from(["zeros", "ones", "arange", "random(3)", "randint(0, 5, 1)", "permutation(2)"]),
)
def test_an_array_printed_reads_back(type_: str, shape: list[int], fill: str) -> None:
    array = parse_array(f"{type_}[{','.join(map(str, shape))}] {fill}", {}, where="x")
    assert parse_array(str(array), {}, where="x") == array


@given(st.text("f32b6[]n()random,\"'. 1", max_size=40))
def test_no_text_gives_anything_but_an_argument_or_an_input_error(text: str) -> None:
    try:
        value = parse_argument(text, NAMES, where="x")
    except InputError:
        return
    assert isinstance(value, int | float | Array | ArgumentList)


@pytest.mark.parametrize("text", ["[)", "[1}", "{a=1]"])
def test_brackets_that_do_not_match_are_not_closed(text: str) -> None:
    with pytest.raises(InputError, match="is not closed"):
        parse_argument(text, NAMES, where="x")


def test_a_struct_is_fields_by_name() -> None:
    found = parse_argument("{p = f32[k] arange, k=n + 1, q={x=1, y=[m, 2]}}", NAMES, where="s")
    assert found == Structure(
        (
            ("p", Array("f32", (7,), Fill("arange"))),
            ("k", 7),
            ("q", Structure((("x", 1), ("y", ArgumentList((4, 2)))))),
        )
    )


def test_lists_repeat_and_quotes_hold_commas() -> None:
    found = parse_argument("""[f32[n] file("a,b].npy")] * m""", NAMES, where="a")
    assert found == ArgumentList((Array("f32", (6,), Fill("file", path="a,b].npy")),) * 4)


def test_an_array_may_be_that_of_another_argument() -> None:
    found = parse_argument("f32[n] arange of s.p", NAMES, where="x")
    assert found == Array("f32", (6,), Fill("arange"), of="s.p")


@given(
    st.recursive(
        st.integers(-9, 9) | st.just(Array("f32", (3,), Fill("random", (1,)))),
        lambda inner: (
            st.lists(inner, min_size=1, max_size=3).map(lambda items: ArgumentList(tuple(items)))
            | st.dictionaries(st.sampled_from("abc"), inner, min_size=1).map(
                lambda fields: Structure(tuple(fields.items()))
            )
        ),
        max_leaves=6,
    )
)
def test_what_is_printed_reads_back(value) -> None:
    assert parse_argument(str(value), {}, where="x") == value


def test_a_launch_is_as_large_as_its_arguments_say() -> None:
    """Wrong if the grid cannot use a number among the arguments, or one of the names gives way."""
    args = {"x": "f32[n]", "n": "1000", "m": "1"}
    launch = make_launch(grid="cdiv(n, 256)", block="m", args=args, names={"m": 32})
    assert (launch.grid, launch.block) == ((4, 1, 1), (32, 1, 1))
