"""C++ expressions as expressions of a launch: constants computed, what is open kept as a name."""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kernelcast.errors import InputError
from kernelcast.frontends.expressions import FUNCTIONS, Number, evaluate
from kernelcast.frontends.source.c_expressions import (
    Binary,
    Call,
    Cast,
    Conditional,
    Constant,
    Name,
    SizeOf,
    Tree,
    Unary,
    Unknown,
    read_expression,
    type_text,
)
from kernelcast.frontends.source.words import Lexeme

_MAX_DEPTH = 24
_MAX_TEXT = 300

SIZES: Mapping[str, int] = {
    **dict.fromkeys(("char", "signed char", "unsigned char", "bool", "int8_t", "uint8_t"), 1),
    **dict.fromkeys(("uchar", "char1", "uchar1"), 1),
    **dict.fromkeys(("short", "unsigned short", "int16_t", "uint16_t", "half", "__half"), 2),
    **dict.fromkeys(("__nv_bfloat16", "nv_bfloat16", "ushort", "char2", "uchar2"), 2),
    **dict.fromkeys(("int", "unsigned", "unsigned int", "float", "int32_t", "uint32_t"), 4),
    **dict.fromkeys(("uint", "char4", "uchar4", "short2", "ushort2", "half2", "__half2"), 4),
    **dict.fromkeys(("long", "unsigned long", "long long", "unsigned long long", "double"), 8),
    **dict.fromkeys(
        ("int64_t", "uint64_t", "size_t", "ulong", "float2", "int2", "uint2", "clock_t"), 8
    ),
    **dict.fromkeys(("short4", "ushort4", "long int", "long long int"), 8),
    **dict.fromkeys(("float3", "int3", "uint3"), 12),
    **dict.fromkeys(("float4", "int4", "uint4", "double2", "longlong2", "ulonglong2"), 16),
    **dict.fromkeys(("double3",), 24),
    **dict.fromkeys(("double4",), 32),
    **dict.fromkeys(("curandState", "curandState_t", "curandStateXORWOW_t"), 48),
    **dict.fromkeys(("curandStateMRG32k3a", "curandStateMRG32k3a_t"), 48),
    **dict.fromkeys(("curandStatePhilox4_32_10_t",), 64),
}
"""Bytes of the types that a source may name without defining them."""

_ATOM = 9
_LEVELS: Mapping[str, int] = {
    **dict.fromkeys(("<", ">", "<=", ">=", "==", "!="), 0),
    "|": 1,
    "^": 2,
    "&": 3,
    "<<": 4,
    ">>": 4,
    "+": 5,
    "-": 5,
    "*": 6,
    "/": 6,
    "//": 6,
    "%": 6,
    "sign": 7,
    "**": 8,
}
"""Precedence of the operators of a launch's expressions, which is Python's."""

_REAL = frozenset({"float", "double"})
_CALLS: Mapping[str, tuple[str, int]] = {
    **dict.fromkeys(("ceil", "ceilf", "std::ceil"), ("ceil", 1)),
    **dict.fromkeys(("floor", "floorf", "std::floor"), ("floor", 1)),
    **dict.fromkeys(("sqrt", "sqrtf", "std::sqrt"), ("sqrt", 1)),
    **dict.fromkeys(("log2", "log2f", "std::log2"), ("log2", 1)),
    **dict.fromkeys(("abs", "fabs", "std::abs"), ("abs", 1)),
    **dict.fromkeys(("min", "std::min", "MIN", "fmin", "fminf"), ("min", 2)),
    **dict.fromkeys(("max", "std::max", "MAX", "fmax", "fmaxf"), ("max", 2)),
}
_OPERATORS = frozenset({"+", "-", "%", "<<", ">>", "&", "|", "^"})
_COMPARISONS = frozenset({"<", ">", "<=", ">=", "==", "!="})


@dataclass(frozen=True, slots=True)
class Folded:
    """An expression of a launch.

    `value` where it is a constant, `is_real` where C++ has it as a float, `opened` the names in it
    whose values the source does not say, with what it says in their place. `level` is the
    precedence of its outermost operator; `factors` are those of a product.
    """

    text: str
    value: Number | None = None
    is_real: bool = False
    opened: Mapping[str, str] = field(default_factory=dict)
    level: int = _ATOM
    factors: tuple[Folded, ...] = ()


Lookup = Callable[[str], "tuple[Sequence[Lexeme] | None, NameScope] | None"]


@dataclass(frozen=True)
class NameScope:
    """What names mean where an expression stands.

    `value_of` gives the words of a name's value and the scope they stand in, None where the source
    does not say; `function` the parameters and the value of a function that only returns one;
    `size_of` the bytes of a type that the source declares.
    """

    value_of: Lookup
    function: Callable[[str], tuple[tuple[str, ...], Tree] | None]
    size_of: Callable[[str], int | None]


_TAKEN = frozenset({"source", "caches", "launch", "symbols"})
"""Names that mean something else at the top of a workload."""


class _OpenError(Exception):
    """A value that the source does not say."""


def fold(words: Sequence[Lexeme], scope: NameScope) -> Folded:
    """The expression of the words; where they are no expression, an open name stands for them."""
    return _fold_or_open(read_expression(words), words, scope)


def fold_extent(words: Sequence[Lexeme], scope: NameScope) -> tuple[Folded, ...]:
    """One to three sizes: a number, or a `dim3`."""
    tree, inside = _resolved(read_expression(words), scope, 0)
    if isinstance(tree, Call) and isinstance(tree.function, Name):
        is_dim3 = tree.function.text in ("dim3", "", "uint3", "make_uint3")
        if is_dim3 and 1 <= len(tree.arguments) <= 3:
            return tuple(_fold_or_open(each, words, inside) for each in tree.arguments)
    members = _members(words, scope)
    return members or (_fold_or_open(tree, words, inside),)


def _members(words: Sequence[Lexeme], scope: NameScope) -> tuple[Folded, ...]:
    """A `dim3` whose members were given one by one."""
    if len(words) != 1:
        return ()
    found = []
    for axis in "xyz":
        held = scope.value_of(f"{words[0].text}.{axis}")
        if held is None or held[0] is None:
            break
        found.append(fold(held[0], held[1]))
    return tuple(found)


def _resolved(tree: Tree, scope: NameScope, depth: int) -> tuple[Tree, NameScope]:
    """The tree that a name, a cast to `dim3` or a conversion leads to."""
    if depth > _MAX_DEPTH:
        return tree, scope
    if isinstance(tree, Cast) and tree.type == "dim3":
        return _resolved(tree.operand, scope, depth + 1)
    if isinstance(tree, Call) and tree.function == Name("dim3") and len(tree.arguments) == 1:
        inner = _resolved(tree.arguments[0], scope, depth + 1)
        is_extent = isinstance(inner[0], Call) and inner[0].function in (Name("dim3"), Name(""))
        return inner if is_extent else (tree, scope)
    if isinstance(tree, Name):
        held = scope.value_of(tree.text)
        if held is not None and held[0] is not None:
            inner = _resolved(read_expression(held[0]), held[1], depth + 1)
            if isinstance(inner[0], Call):
                return inner
    return tree, scope


def _fold_or_open(tree: Tree, words: Sequence[Lexeme], scope: NameScope) -> Folded:
    try:
        return _closed(_fold(tree, scope, 0))
    except _OpenError:
        return open_name(_spelled(tree, words), "")


def open_name(spelled: str, why: str) -> Folded:
    """A name for a value that the source does not say."""
    name = re.sub(r"\W+", "_", spelled).strip("_")[:40].rstrip("_") or "value"
    if name[0].isdigit():
        name = f"value_{name}"
    if name in FUNCTIONS or name in _TAKEN or keyword.iskeyword(name):
        name = f"{name}_"
    return Folded(name, None, False, {name: why})


def _spelled(tree: Tree, words: Sequence[Lexeme]) -> str:
    if isinstance(tree, Unknown):
        words = tree.words
    if isinstance(tree, Name):
        return tree.text
    return " ".join(word.text for word in words)


def _closed(folded: Folded) -> Folded:
    """A constant as a number."""
    if folded.opened or folded.value is not None:
        return folded
    try:
        value = evaluate(folded.text, {})
    except InputError:
        raise _OpenError from None
    if isinstance(value, float) and not math.isfinite(value):
        raise _OpenError
    return Folded(_number_text(value), value, folded.is_real, {})


def _number_text(value: Number) -> str:
    return str(value) if isinstance(value, int) else repr(value)


def _joined(text: str, parts: Sequence[Folded], *, is_real: bool, level: int = _ATOM) -> Folded:
    """An expression over parts; computed where all of them are constants."""
    opened = {name: why for part in parts for name, why in part.opened.items()}
    if len(text) > _MAX_TEXT:
        raise _OpenError
    folded = Folded(text, None, is_real, opened, level)
    return folded if opened else _closed(folded)


def product(parts: Sequence[Folded]) -> Folded:
    """The product of one or more expressions."""
    is_real = any(part.is_real for part in parts)
    factors = tuple(f for part in parts for f in part.factors or (part,))
    factors = tuple(f for f in factors if f.value != 1) or factors[:1]
    if len(factors) == 1:
        return replace(factors[0], is_real=is_real)
    level = _LEVELS["*"]
    rest = [_inside(each, level + 1) for each in factors[1:]]
    text = " * ".join([_inside(factors[0], level), *rest])
    return replace(_joined(text, parts, is_real=is_real, level=level), factors=factors)


def quotient(left: Folded, right: Folded) -> Folded:
    """What C++ has a quotient as: without a fraction, for integers."""
    is_real = left.is_real or right.is_real
    return _between(left, "/" if is_real else "//", right, is_real=is_real)


def _between(left: Folded, sign: str, right: Folded, *, is_real: bool) -> Folded:
    level = _LEVELS[sign]
    first = level + (sign in _COMPARISONS)
    text = f"{_inside(left, first)} {sign} {_inside(right, level + 1)}"
    return _joined(text, [left, right], is_real=is_real, level=level)


def _inside(part: Folded, level: int) -> str:
    """The text of an operand, in brackets where its operator binds less than the level."""
    return part.text if part.level >= level and not part.text.startswith("-") else f"({part.text})"


def _fold(tree: Tree, scope: NameScope, depth: int) -> Folded:
    if depth > _MAX_DEPTH:
        raise _OpenError
    below = depth + 1
    match tree:
        case Constant(value=value):
            return Folded(_number_text(value), value, isinstance(value, float), {})
        case Name(text=text):
            return _fold_name(text, scope, below)
        case Unary(operator="-" | "+" | "~" as sign, operand=operand):
            part = _fold(operand, scope, below)
            text = f"{sign}{_inside(part, _LEVELS['sign'])}"
            return _joined(text, [part], is_real=part.is_real, level=_LEVELS["sign"])
        case Unary(operator="!", operand=operand):
            part = _fold(operand, scope, below)
            return _between(part, "==", Folded("0", 0), is_real=False)
        case Binary():
            return _fold_binary(tree, scope, below)
        case Conditional():
            return _fold_conditional(tree, scope, below)
        case Cast(type=type_, operand=operand):
            return _fold_cast(type_, _fold(operand, scope, below))
        case SizeOf(words=words):
            return _fold_size(words, scope)
        case Call(function=Name(text=text), arguments=arguments):
            return _fold_call(text, arguments, scope, below)
        case Call(function=Binary(operator=".", left=Name(text=owner), right=Name("size"))):
            return _fold_count(owner, scope, below)
    raise _OpenError


def _fold_name(text: str, scope: NameScope, depth: int) -> Folded:
    if text in ("true", "false"):
        return Folded(str(int(text == "true")), int(text == "true"))
    if text in ("nullptr", "NULL"):
        return Folded("0", 0)
    held = scope.value_of(text)
    if held is None or held[0] is None:
        return open_name(text, "")
    try:
        found = _fold(read_expression(held[0]), held[1], depth)
    except _OpenError:
        return open_name(text, " ".join(word.text for word in held[0]))
    return found


def _fold_binary(tree: Binary, scope: NameScope, depth: int) -> Folded:
    if tree.operator == ".":
        return _fold_member(tree, scope, depth)
    if tree.operator == "[":
        return _fold_element(tree, scope, depth)
    if tree.operator == "=":
        return _fold(tree.right, scope, depth)
    left, right = _fold(tree.left, scope, depth), _fold(tree.right, scope, depth)
    is_real = left.is_real or right.is_real
    if tree.operator == "/":
        return quotient(left, right)
    if tree.operator == "*":
        return product([left, right])
    if tree.operator in _OPERATORS or tree.operator in _COMPARISONS:
        return _between(left, tree.operator, right, is_real=is_real and tree.operator in _OPERATORS)
    if tree.operator in ("&&", "||"):
        both = [_between(part, "!=", Folded("0", 0), is_real=False) for part in (left, right)]
        return product(both) if tree.operator == "&&" else _either(both)
    raise _OpenError


def _either(parts: Sequence[Folded]) -> Folded:
    text = f"max({', '.join(part.text for part in parts)})"
    return _joined(text, parts, is_real=False)


def _fold_member(tree: Binary, scope: NameScope, depth: int) -> Folded:
    """`grid.x`, or a member that was given a value."""
    if not isinstance(tree.left, Name) or not isinstance(tree.right, Name):
        raise _OpenError
    owner, member = tree.left.text, tree.right.text
    held = scope.value_of(f"{owner}.{member}")
    if held is not None and held[0] is not None:
        return _fold(read_expression(held[0]), held[1], depth)
    found, inside = _resolved(tree.left, scope, depth)
    is_extent = isinstance(found, Call) and found.function in (Name("dim3"), Name(""))
    if isinstance(found, Call) and is_extent and member in "xyz":
        axis = "xyz".index(member)
        if axis >= len(found.arguments):
            return Folded("1", 1, False, {})
        return _fold(found.arguments[axis], inside, depth)
    return open_name(f"{owner}_{member}", "")


def _fold_count(container: str, scope: NameScope, depth: int) -> Folded:
    """`c.size()`, of a container here or one that was handed here."""
    held = scope.value_of(f"{container}.size")
    if held is not None and held[0]:
        return _fold(read_expression(held[0]), held[1], depth)
    handed = scope.value_of(container)
    if depth < _MAX_DEPTH and handed is not None and handed[0] and len(handed[0]) == 1:
        return _fold_count(handed[0][0].text, handed[1], depth + 1)
    raise _OpenError


def _fold_element(tree: Binary, scope: NameScope, depth: int) -> Folded:
    """`sizes[2]`, where the values of `sizes` are written behind it."""
    at = _fold(tree.right, scope, depth).value
    found, inside = _resolved(tree.left, scope, depth)
    listed = found.arguments if isinstance(found, Call) and found.function == Name("") else ()
    if not isinstance(at, int) or not 0 <= at < len(listed):
        raise _OpenError
    return _fold(listed[at], inside, depth)


def _fold_conditional(tree: Conditional, scope: NameScope, depth: int) -> Folded:
    condition = _fold(tree.condition, scope, depth)
    if condition.value is not None:
        return _fold(tree.yes if condition.value else tree.no, scope, depth)
    yes, no = _fold(tree.yes, scope, depth), _fold(tree.no, scope, depth)
    is_real = yes.is_real or no.is_real
    least = _extreme(tree)
    if least:
        return _joined(f"{least}({yes.text}, {no.text})", [yes, no], is_real=is_real)
    otherwise = _between(Folded("1", 1), "-", condition, is_real=False)
    chosen = product([condition, yes]), product([otherwise, no])
    return _between(chosen[0], "+", chosen[1], is_real=is_real)


def _extreme(tree: Conditional) -> str:
    """`min` or `max`, where a choice is one."""
    condition = tree.condition
    if not isinstance(condition, Binary) or condition.operator not in ("<", ">", "<=", ">="):
        return ""
    is_less = condition.operator.startswith("<")
    if (condition.left, condition.right) == (tree.yes, tree.no):
        return "min" if is_less else "max"
    if (condition.left, condition.right) == (tree.no, tree.yes):
        return "max" if is_less else "min"
    return ""


def _fold_cast(type_: str, part: Folded) -> Folded:
    if type_ in _REAL:
        return replace(part, is_real=True)
    if type_.endswith("*") or (type_ not in SIZES and type_ != "auto"):
        raise _OpenError
    if not part.is_real:
        return part
    if isinstance(part.value, float):
        return Folded(str(int(part.value)), int(part.value), False, {})
    if part.text.startswith(("ceil(", "floor(")) and part.text.endswith(")"):
        return replace(part, is_real=False)
    return _joined(f"floor({part.text})", [part], is_real=False)


def _fold_size(words: Sequence[Lexeme], scope: NameScope, depth: int = 0) -> Folded:
    type_ = type_text(words)
    if type_.endswith("*"):
        return Folded("8", 8, False, {})
    if type_ in SIZES:
        return Folded(str(SIZES[type_]), SIZES[type_], False, {})
    held = scope.value_of(f"typename {type_}")
    if held is not None and held[0] and depth < _MAX_DEPTH:
        return _fold_size(held[0], held[1], depth + 1)
    size = scope.size_of(type_)
    if size is not None:
        return Folded(str(size), size, False, {})
    return open_name(f"sizeof_{type_}", f"sizeof({type_})")


def _fold_call(text: str, arguments: Sequence[Tree], scope: NameScope, depth: int) -> Folded:
    if text in ("pow", "powf", "std::pow") and len(arguments) == 2:
        left, right = (_fold(each, scope, depth) for each in arguments)
        return _between(left, "**", right, is_real=True)
    found = scope.function(text.rpartition("::")[2]) if text not in _CALLS else None
    if found is not None and len(found[0]) == len(arguments):
        return _fold_inlined(found, arguments, scope, depth)
    if text in ("dim3", "") and len(arguments) == 1:
        return _fold(arguments[0], scope, depth)
    name, count = _CALLS.get(text, ("", -1))
    if count != len(arguments):
        raise _OpenError
    parts = [_fold(each, scope, depth) for each in arguments]
    is_real = name in ("sqrt", "log2") or (
        name in ("ceil", "floor") or any(part.is_real for part in parts)
    )
    if name in ("ceil", "floor") and not parts[0].is_real:
        return replace(parts[0], is_real=True)
    return _joined(f"{name}({', '.join(part.text for part in parts)})", parts, is_real=is_real)


def _fold_inlined(
    function: tuple[tuple[str, ...], Tree], arguments: Sequence[Tree], scope: NameScope, depth: int
) -> Folded:
    """The value of a function that only returns one, for its arguments."""
    names, tree = function
    given = dict(zip(names, arguments, strict=True))
    return _fold(_replaced(tree, given, 0), scope, depth)


def _replaced(tree: Tree, given: Mapping[str, Tree], depth: int) -> Tree:
    if depth > _MAX_DEPTH:
        raise _OpenError
    below = depth + 1
    match tree:
        case Name(text=text):
            return given.get(text, tree)
        case Unary(operator=operator, operand=operand):
            return Unary(operator, _replaced(operand, given, below))
        case Binary(operator=operator, left=left, right=right):
            return Binary(operator, _replaced(left, given, below), _replaced(right, given, below))
        case Conditional(condition=condition, yes=yes, no=no):
            parts = (_replaced(each, given, below) for each in (condition, yes, no))
            return Conditional(*parts)
        case Cast(type=type_, operand=operand):
            return Cast(type_, _replaced(operand, given, below))
        case Call(function=function, arguments=arguments, template=template):
            replaced = tuple(_replaced(each, given, below) for each in arguments)
            return Call(function, replaced, template)
    return tree
