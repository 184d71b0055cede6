"""Every form of instruction that both executors know, as a line of PTX over typed operands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Form:
    """An instruction: `text` with {d}, {a}, {b}, {c}; types of the result and of the operands."""

    text: str
    result: str
    operands: tuple[str, ...]
    approximate: bool = False

    def __str__(self) -> str:
        return self.text.split()[0]


INTEGERS = ("s16", "u16", "s32", "u32", "s64", "u64")
BITS = ("b16", "b32", "b64")
FLOATS = ("f32", "f64")
ORDERED = ("eq", "ne", "lt", "le", "gt", "ge")
HALVES = ("f16", "bf16", "f16x2", "bf16x2")


def storage(name: str) -> str:
    """The array type that holds a PTX type."""
    if name.endswith("x2"):
        return "b32"
    return {"pred": "u32", "f16": "b16", "bf16": "b16"}.get(name, name)


def _integer() -> Iterator[Form]:
    for t in INTEGERS:
        for op in ("add", "sub", "mul.lo", "mul.hi", "div", "rem", "min", "max"):
            yield Form(f"{op}.{t} {{d}}, {{a}}, {{b}};", t, (t, t))
        for op in ("mad.lo", "mad.hi", "sad"):
            yield Form(f"{op}.{t} {{d}}, {{a}}, {{b}}, {{c}};", t, (t, t, t))
        if t[1:] != "64":
            wide = t[0] + str(2 * int(t[1:]))
            yield Form(f"mul.wide.{t} {{d}}, {{a}}, {{b}};", wide, (t, t))
            yield Form(f"mad.wide.{t} {{d}}, {{a}}, {{b}}, {{c}};", wide, (t, t, wide))
        for op in ("neg", "abs"):
            if t[0] == "s":
                yield Form(f"{op}.{t} {{d}}, {{a}};", t, (t,))
        yield Form(f"shr.{t} {{d}}, {{a}}, {{b}};", t, (t, "u32"))
        if t[1:] != "16":
            yield Form(f"bfe.{t} {{d}}, {{a}}, {{b}}, {{c}};", t, (t, "u32", "u32"))
            yield Form(f"bfind.{t} {{d}}, {{a}};", "u32", (t,))
            yield Form(f"bfind.shiftamt.{t} {{d}}, {{a}};", "u32", (t,))
    for t in ("s32", "u32"):
        for half in ("lo", "hi"):
            yield Form(f"mul24.{half}.{t} {{d}}, {{a}}, {{b}};", t, (t, t))
            yield Form(f"mad24.{half}.{t} {{d}}, {{a}}, {{b}}, {{c}};", t, (t, t, t))
    for op in ("add", "sub"):
        yield Form(f"{op}.sat.s32 {{d}}, {{a}}, {{b}};", "s32", ("s32", "s32"))
    for t in ("u32", "u64"):
        carry = "add.cc.{t} {{d}}, {{a}}, {{b}}; addc.{t} {{d}}, {{d}}, {{c}};"
        yield Form(carry.format(t=t), t, (t, t, t))
        borrow = "sub.cc.{t} {{d}}, {{a}}, {{b}}; subc.{t} {{d}}, {{d}}, {{c}};"
        yield Form(borrow.format(t=t), t, (t, t, t))
        chain = "mad.lo.cc.{t} {{d}}, {{a}}, {{b}}, {{c}}; madc.hi.{t} {{d}}, {{a}}, {{b}}, {{d}};"
        yield Form(chain.format(t=t), t, (t, t, t))
    for a in ("u32", "s32"):
        for b in ("u32", "s32"):
            yield Form(f"dp4a.{a}.{b} {{d}}, {{a}}, {{b}}, {{c}};", "s32", (a, b, "s32"))

    u32 = ("u32", "u32", "u32")
    for mode in ("", ".add"):
        yield Form(f"vabsdiff4.u32.u32.u32{mode} {{d}}, {{a}}, {{b}}, {{c}};", "u32", u32)
    yield Form("mad.hi.sat.s32 {d}, {a}, {b}, {c};", "s32", ("s32", "s32", "s32"))
    for half in ("lo", "hi"):
        for a in ("u32", "s32"):
            text = f"dp2a.{half}.{a}.s32 {{d}}, {{a}}, {{b}}, {{c}};"
            yield Form(text, "s32", (a, "s32", "s32"))
    for mode in ("wrap", "clamp"):
        yield Form(f"bmsk.{mode}.b32 {{d}}, {{a}}, {{b}};", "b32", ("b32", "b32"))
        for t in ("u32", "s32"):
            yield Form(f"szext.{mode}.{t} {{d}}, {{a}}, {{b}};", t, (t, "u32"))
    for t in ("u16x2", "s16x2"):
        for op in ("add", "min", "max"):
            yield Form(f"{op}.{t} {{d}}, {{a}}, {{b}};", t, (t, t))


def _bits() -> Iterator[Form]:
    for t in BITS:
        for op in ("and", "or", "xor"):
            yield Form(f"{op}.{t} {{d}}, {{a}}, {{b}};", t, (t, t))
        for op in ("not", "cnot"):
            yield Form(f"{op}.{t} {{d}}, {{a}};", t, (t,))
        yield Form(f"shl.{t} {{d}}, {{a}}, {{b}};", t, (t, "u32"))
        if t != "b16":
            yield Form(f"bfi.{t} {{d}}, {{a}}, {{b}}, {{c}}, 9;", t, (t, t, "u32"))
            yield Form(f"bfi.{t} {{d}}, {{a}}, {{b}}, 3, {{c}};", t, (t, t, "u32"))
            yield Form(f"brev.{t} {{d}}, {{a}};", t, (t,))
            yield Form(f"popc.{t} {{d}}, {{a}};", "u32", (t,))
            yield Form(f"clz.{t} {{d}}, {{a}};", "u32", (t,))
    b32 = ("b32", "b32", "b32")
    for table in (0x96, 0xE8, 0xCA, 0x01, 0x80, 0xFE):
        yield Form(f"lop3.b32 {{d}}, {{a}}, {{b}}, {{c}}, {table};", "b32", b32)
    for side in ("l", "r"):
        for mode in ("wrap", "clamp"):
            yield Form(f"shf.{side}.{mode}.b32 {{d}}, {{a}}, {{b}}, {{c}};", "b32", b32)
    for mode in ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"):
        yield Form(f"prmt.b32{mode} {{d}}, {{a}}, {{b}}, {{c}};", "b32", b32)
    yield Form("mov.b64 {d}, {{{a}, {b}}};", "b64", ("b32", "b32"))
    yield Form("{{ .reg .b32 q; mov.b64 {{q, {d}}}, {a}; }}", "b32", ("b64",))


def _float() -> Iterator[Form]:
    for t in FLOATS:
        flushes = ("", ".ftz") if t == "f32" else ("",)
        for ftz in flushes:
            for op in ("add.rn", "sub.rn", "mul.rn", "div.rn"):
                yield Form(f"{op}{ftz}.{t} {{d}}, {{a}}, {{b}};", t, (t, t))
            for op in ("min", "max"):
                yield Form(f"{op}{ftz}.{t} {{d}}, {{a}}, {{b}};", t, (t, t))
            yield Form(f"fma.rn{ftz}.{t} {{d}}, {{a}}, {{b}}, {{c}};", t, (t, t, t))
            for op in ("neg", "abs", "sqrt.rn", "rcp.rn"):
                yield Form(f"{op}{ftz}.{t} {{d}}, {{a}};", t, (t,))
        yield Form(f"copysign.{t} {{d}}, {{a}}, {{b}};", t, (t, t))
        for kind in ("finite", "infinite", "number", "notanumber", "normal", "subnormal"):
            yield Form(f"testp.{kind}.{t} {{d}}, {{a}};", "pred", (t,))
    for mode in ("rz", "rm", "rp"):
        for t in FLOATS:
            for op in ("add", "sub", "mul", "div"):
                yield Form(f"{op}.{mode}.{t} {{d}}, {{a}}, {{b}};", t, (t, t))
            for op in ("rcp", "sqrt"):
                yield Form(f"{op}.{mode}.{t} {{d}}, {{a}};", t, (t,))
            yield Form(f"fma.{mode}.{t} {{d}}, {{a}}, {{b}}, {{c}};", t, (t,) * 3)
            yield Form(f"sub.{mode}.{t} {{d}}, {{a}}, {{a}};", t, (t,))
        yield Form(f"fma.{mode}.ftz.f32 {{d}}, {{a}}, {{b}}, {{a}};", "f32", ("f32", "f32"))
    for op in ("add.rn.sat", "mul.rn.ftz.sat", "sub.rn.sat"):
        yield Form(f"{op}.f32 {{d}}, {{a}}, {{b}};", "f32", ("f32", "f32"))
    for op in ("min", "max", "min.NaN", "max.ftz", "min.ftz.NaN"):
        text = f"{op}.xorsign.abs.f32 {{d}}, {{a}}, {{b}};"
        yield Form(text, "f32", ("f32", "f32"))
    for op in ("min.NaN", "max.NaN"):
        yield Form(f"{op}.f32 {{d}}, {{a}}, {{b}};", "f32", ("f32", "f32"))
    for t in HALVES:
        for op in ("add", "sub", "mul", "min", "max"):
            yield Form(f"{op}.{t} {{d}}, {{a}}, {{b}};", t, (t, t))
        for fma in ("fma.rn", "fma.rn.relu"):
            yield Form(f"{fma}.{t} {{d}}, {{a}}, {{b}}, {{c}};", t, (t, t, t))
        for op in ("min", "max.NaN"):
            yield Form(f"{op}.xorsign.abs.{t} {{d}}, {{a}}, {{b}};", t, (t, t))
        for op in ("neg", "abs"):
            yield Form(f"{op}.{t} {{d}}, {{a}};", t, (t,))
    for op in ("sin", "cos", "ex2", "lg2", "rsqrt", "rcp", "sqrt", "tanh"):
        yield Form(f"{op}.approx.f32 {{d}}, {{a}};", "f32", ("f32",), approximate=True)
    for op in ("sin.turns", "cos.turns", "rcp.approx.ftz", "ex2.approx.ftz", "lg2.approx.ftz"):
        yield Form(f"{op}.f32 {{d}}, {{a}};", "f32", ("f32",), approximate=True)
    for op in ("rcp", "rsqrt"):
        yield Form(f"{op}.approx.ftz.f64 {{d}}, {{a}};", "f64", ("f64",))
    yield Form("rsqrt.approx.f64 {d}, {a};", "f64", ("f64",))
    for op in ("div.approx", "div.full"):
        yield Form(f"{op}.f32 {{d}}, {{a}}, {{b}};", "f32", ("f32", "f32"), approximate=True)


def _comparisons() -> Iterator[Form]:
    relations = {
        "s": ORDERED,
        "u": (*ORDERED, "lo", "ls", "hi", "hs"),
        "f": (*ORDERED, *(f"{relation}u" for relation in ORDERED), "num", "nan"),
    }
    for t in (*INTEGERS, *FLOATS):
        for relation in relations[t[0]]:
            yield Form(f"setp.{relation}.{t} {{d}}, {{a}}, {{b}};", "pred", (t, t))
        yield Form(f"selp.{t} {{d}}, {{a}}, {{b}}, {{c}};", t, (t, t, "pred"))
        yield Form(f"set.lt.u32.{t} {{d}}, {{a}}, {{b}};", "u32", (t, t))
        yield Form(f"set.ge.f32.{t} {{d}}, {{a}}, {{b}};", "f32", (t, t))
        if t[1:] != "16":
            yield Form(f"slct.{t}.s32 {{d}}, {{a}}, {{b}}, {{c}};", t, (t, t, "s32"))
            yield Form(f"slct.{t}.f32 {{d}}, {{a}}, {{b}}, {{c}};", t, (t, t, "f32"))
    for joined in ("and", "or", "xor"):
        text = f"setp.lt.{joined}.s32 {{d}}, {{a}}, {{b}}, {{c}};"
        yield Form(text, "pred", ("s32", "s32", "pred"))
        text = f"{{{{ .reg .pred q; setp.gt.{joined}.f32 q|{{d}}, {{a}}, {{b}}, !{{c}}; }}}}"
        yield Form(text, "pred", ("f32", "f32", "pred"))
    for t in ("f16", "bf16"):
        for relation in ("lt", "geu", "nan"):
            yield Form(f"setp.{relation}.{t} {{d}}, {{a}}, {{b}};", "pred", (t, t))
            yield Form(f"set.{relation}.u32.{t}x2 {{d}}, {{a}}, {{b}};", "u32", (f"{t}x2",) * 2)
            text = f"set.{relation}.{t}x2.{t}x2 {{d}}, {{a}}, {{b}};"
            yield Form(text, f"{t}x2", (f"{t}x2",) * 2)


def _conversions() -> Iterator[Form]:
    integers = ("s8", "u8", *INTEGERS)
    for to in integers:
        for source in integers:
            if to != source:
                yield Form(f"cvt.{to}.{source} {{d}}, {{a}};", to, (source,))
                yield Form(f"cvt.sat.{to}.{source} {{d}}, {{a}};", to, (source,))
        for source in ("f32", "f64", "f16"):
            for mode in ("rni", "rzi", "rmi", "rpi"):
                yield Form(f"cvt.{mode}.{to}.{source} {{d}}, {{a}};", to, (source,))
            yield Form(f"cvt.rn.{source}.{to} {{d}}, {{a}};", source, (to,))
        yield Form(f"cvt.rn.bf16.{to} {{d}}, {{a}};", "bf16", (to,))
        for mode in ("rz", "rm", "rp"):
            for float_type in FLOATS:
                yield Form(f"cvt.{mode}.{float_type}.{to} {{d}}, {{a}};", float_type, (to,))
    for mode in ("rn", "rz", "rm", "rp"):
        yield Form(f"cvt.{mode}.f32.f64 {{d}}, {{a}};", "f32", ("f64",))
    for t in FLOATS:
        for mode in ("rni", "rzi", "rmi", "rpi"):
            yield Form(f"cvt.{mode}.{t}.{t} {{d}}, {{a}};", t, (t,))
    yield Form("cvt.f64.f32 {d}, {a};", "f64", ("f32",))
    yield Form("cvt.ftz.f64.f32 {d}, {a};", "f64", ("f32",))
    yield Form("cvt.sat.f32.f32 {d}, {a};", "f32", ("f32",))
    for t in ("f16", "bf16"):
        for mode in ("rz", "rm", "rp"):
            yield Form(f"cvt.{mode}.{t}.f32 {{d}}, {{a}};", t, ("f32",))
            yield Form(f"cvt.{mode}.{t}.f64 {{d}}, {{a}};", t, ("f64",))
            yield Form(f"cvt.{mode}.{t}.s32 {{d}}, {{a}};", t, ("s32",))
            yield Form(f"cvt.{mode}.{t}.u64 {{d}}, {{a}};", t, ("u64",))
        yield Form(f"cvt.f32.{t} {{d}}, {{a}};", "f32", (t,))
        yield Form(f"cvt.rn.{t}.f32 {{d}}, {{a}};", t, ("f32",))
        for mode in ("rn", "rz", "rn.relu"):
            text = f"cvt.{mode}.{t}x2.f32 {{d}}, {{a}}, {{b}};"
            yield Form(text, f"{t}x2", ("f32", "f32"))
    for t in ("s16", "u16"):
        yield Form(f"cvt.pack.sat.{t}.s32 {{d}}, {{a}}, {{b}};", "b32", ("s32", "s32"))
    for t in ("s8", "u8"):
        text = f"cvt.pack.sat.{t}.s32.b32 {{d}}, {{a}}, {{b}}, {{c}};"
        yield Form(text, "b32", ("s32", "s32", "b32"))
    for t in ("f16", "bf16"):
        yield Form(f"cvt.rn.{t}.f64 {{d}}, {{a}};", t, ("f64",))
    yield Form("cvt.f64.f16 {d}, {a};", "f64", ("f16",))


def _warp() -> Iterator[Form]:
    b32 = ("b32", "b32", "b32")
    for mode in ("up", "down", "bfly", "idx"):
        for bound in (0, 31, 0x1018, 0x181F, 7):
            text = f"shfl.sync.{mode}.b32 {{d}}, {{a}}, 3, {bound}, -1;"
            yield Form(text, "b32", ("b32",))
        text = f"shfl.sync.{mode}.b32 {{d}}, {{a}}, {{b}}, {{c}}, -1;"
        yield Form(text, "b32", b32)
        text = f"{{{{ .reg .b32 q; shfl.sync.{mode}.b32 q|{{d}}, {{a}}, {{b}}, {{c}}, -1; }}}}"
        yield Form(text, "pred", b32)
    for mode in ("any", "all", "uni"):
        yield Form(f"vote.sync.{mode}.pred {{d}}, {{a}}, -1;", "pred", ("pred",))
    yield Form("vote.sync.ballot.b32 {d}, !{a}, 0x0ff0ff33;", "b32", ("pred",))
    for t in ("b32", "b64"):
        yield Form(f"match.any.sync.{t} {{d}}, {{a}}, -1;", "b32", (t,))
        yield Form(f"match.all.sync.{t} {{d}}, {{a}}, -1;", "b32", (t,))
    for op in ("add", "min", "max"):
        for t in ("u32", "s32"):
            yield Form(f"redux.sync.{op}.{t} {{d}}, {{a}}, -1;", t, (t,))
    for op in ("and", "or", "xor"):
        yield Form(f"redux.sync.{op}.b32 {{d}}, {{a}}, -1;", "b32", ("b32",))
    yield Form("activemask.b32 {d};", "b32", ())


def all_forms() -> dict[str, list[Form]]:
    """The forms by family."""
    return {
        "integer": list(_integer()),
        "bits": list(_bits()),
        "float": list(_float()),
        "comparisons": list(_comparisons()),
        "conversions": list(_conversions()),
        "warp": list(_warp()),
    }


def _register(name: str) -> str:
    """The type of register that holds an operand; 8-bit ones live in 16 bits."""
    narrow = {"s8": "b16", "u8": "b16", "f16": "b16", "bf16": "b16", "pred": "pred"}
    if name.endswith("x2"):
        return "b32"
    return narrow.get(name) or name.replace("u", "b").replace("s", "b")


def kernel_text(forms: list[Form], threads: int) -> str:
    """A kernel that applies every form to its own inputs, one thread per element.

    Parameter 0 is an array of results and the others those of operands, all of 8-byte elements;
    form n uses elements n * threads + tid.
    """
    lines = [".version 8.5", ".target sm_90", ".address_size 64", ".visible .entry k("]
    lines.append(",\n".join(f".param .u64 p{n}" for n in range(4)))
    lines += [")", "{", ".reg .b32 %t;", ".reg .b64 %base<4>, %at<4>, %off;"]
    lines.append("mov.u32 %t, %tid.x;")
    lines.append("mul.wide.u32 %off, %t, 8;")
    for n in range(4):
        lines.append(f"ld.param.u64 %at{n}, [p{n}];")
        lines.append(f"add.s64 %base{n}, %at{n}, %off;")
    for number, form in enumerate(forms):
        lines += _one(form, number * threads * 8)
    lines += ["ret;", "}"]
    return "\n".join(lines)


def _one(form: Form, offset: int) -> Iterator[str]:
    names = dict(zip("abc", ("%a", "%b", "%c"), strict=True))
    yield "{"
    yield f".reg .{_register(form.result)} %d;"
    for (letter, name), kind in zip(names.items(), form.operands, strict=False):
        base = 1 + "abc".index(letter)
        yield f".reg .{_register(kind)} {name};"
        if kind == "pred":
            yield f".reg .b32 %{letter}i;"
            yield f"ld.global.u32 %{letter}i, [%base{base}+{offset}];"
            yield f"and.b32 %{letter}i, %{letter}i, 1;"
            yield f"setp.ne.u32 {name}, %{letter}i, 0;"
        else:
            yield f"ld.global.{storage(kind)} {name}, [%base{base}+{offset}];"
    yield form.text.format(d="%d", **names)
    if form.result == "pred":
        yield ".reg .b32 %di;"
        yield "selp.u32 %di, 1, 0, %d;"
        yield f"st.global.u32 [%base0+{offset}], %di;"
    else:
        yield f"st.global.{storage(form.result)} [%base0+{offset}], %d;"
    yield "}"
