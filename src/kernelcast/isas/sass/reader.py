"""nvdisasm's text in, SASS functions out.

Reads what `nvdisasm -c -hex` prints, with any of `-g`, `-gi` and `-gp`: sections, labels, remarks
on source lines, and instructions of two lines each, the second with the upper half of the encoding.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from kernelcast.errors import InputError, NotFoundError, ParseError
from kernelcast.ir import Location
from kernelcast.isas.sass.control import control_code
from kernelcast.isas.sass.instruction import INSTRUCTION_BYTES, SassFunction, SassInstruction
from kernelcast.isas.sass.operands import (
    RegisterOperand,
    SassOperand,
    UnreadableOperandError,
    parse_operand,
)

_ITEM = re.compile(
    r"""^[ \t]*(?:
        /\*([0-9a-f]{4,8})\*/[ ]+([^;\n]*);[ ]*/\*[ ]0x([0-9a-f]{16})[ ]\*/[ \r]*\n
        [ \t]*/\*[ ]0x([0-9a-f]{16})[ ]\*/[ \r]*$
      | //\#\#[ ]File[ ]"([^"\n]*)",[ ]line[ ](\d+)([^\n]*)
      | ([^\s][^\n]*)
    )""",
    re.MULTILINE | re.VERBOSE,
)
"""An instruction, a remark on its place, or any other line; only one of them for every line."""
_BROKEN_INSTRUCTION = re.compile(r"/\*\s*[0-9a-fx]{4,18}\s*\*/")
_BODY = re.compile(r"(?:@(!?U?P(?:\d|T))\s+)?([A-Z][A-Z0-9_]*)((?:\.\w+)*)(?:\s+(.*))?")
_NOTE = re.compile(r'\s*\(\*"([^"]*)"\*\)')
_LABEL = re.compile(r"([.$\w]+):")
_SECTION = re.compile(r"\.text\.([.$\w]+):")
_TARGET = re.compile(r"\.target\s+sm_(\w+)|\.headerflags\s+@.*?\bEF_CUDA_SM(\d+)\b.*")
"""As cubins have it from CUDA 13 on, and before."""
_KERNEL = re.compile(r"\.other\s+([.$\w]+),.*\bSTO_CUDA_ENTRY\b.*")
_OUTER_PLACE = re.compile(r' inlined at "(.*?)", line (\d+)')
_TOOLKIT_FILE = re.compile(r"(^|/)(cuda|nvidia)[^/]*/(.*/)?include/")

_PTX_FILE = ".nv_debug_ptx_txt"
_LISTING_OPTIONS = "nvdisasm -c -hex -gi -gp"


@dataclass(frozen=True)
class SassModule:
    """The functions of a listing by name, in its order."""

    target: str
    functions: dict[str, SassFunction]

    @property
    def kernel_names(self) -> tuple[str, ...]:
        """Names of the kernels, in the order of the text."""
        return tuple(f.name for f in self.functions.values() if f.is_kernel)

    def function(self, name: str) -> SassFunction:
        """The function of that name; NotFoundError where there is none."""
        if name not in self.functions:
            raise NotFoundError("kernel", name, self.functions)
        return self.functions[name]


def parse_sass(text: str, source: str = "") -> SassModule:
    """Read a listing; `source` names it in errors.

    Raises ParseError, with the line, where an instruction is not understood, and InputError where
    the text holds none or was printed without encodings.
    """
    reader = _ListingReader(source or "<sass>")
    reader.read(text)
    return reader.module()


@dataclass
class _Section:
    name: str
    instructions: list[SassInstruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    functions: dict[str, int] = field(default_factory=dict)
    end: int = 0


_Body = tuple[
    RegisterOperand | None, str, tuple[str, ...], tuple[SassOperand, ...], tuple[str, ...]
]
"""Guard, opcode, modifiers, operands and notes."""


class _ListingReader:
    def __init__(self, source: str) -> None:
        self._source = source
        self._target = ""
        self._kernels: set[str] = set()
        self._sections: dict[str, _Section] = {}
        self._section: _Section | None = None
        self._places = _Places()
        self._operands: dict[str, SassOperand] = {}
        self._bodies: dict[str, _Body] = {}

    def module(self) -> SassModule:
        """What has been read."""
        if not any(s.instructions for s in self._sections.values()):
            raise InputError(
                "the text holds no SASS instruction",
                where=self._source,
                hint=f"make it with {_LISTING_OPTIONS}",
            )
        return SassModule(
            self._target,
            {
                s.name: SassFunction(
                    name=s.name,
                    target=self._target,
                    is_kernel=s.name in self._kernels,
                    instructions=tuple(s.instructions),
                    labels=s.labels,
                    functions=s.functions,
                )
                for s in self._sections.values()
            },
        )

    def read(self, text: str) -> None:
        """Take a whole listing."""
        line, counted = 1, 0
        for found in _ITEM.finditer(text):
            line += text.count("\n", counted, found.start())
            counted = found.start()
            address, body, low, high, file, file_line, outer, other = found.groups()
            if address:
                self._instruction(int(address, 16), body.rstrip(), low, high, line)
            elif other:
                self._directive(other.rstrip(), line)
            else:
                self._places.read(file, int(file_line), outer)

    def _instruction(self, address: int, body: str, low: str, high: str, line: int) -> None:
        section = self._section
        if section is None:
            raise ParseError("an instruction before any section", where=self._at(line))
        if section.instructions and address != section.end:
            raise ParseError(
                f"address {address:#x} does not follow {section.end - INSTRUCTION_BYTES:#x}",
                where=self._at(line),
            )
        guard, opcode, modifiers, operands, notes = self._body(body, line)
        encoding = int(high + low, 16)
        location, ptx_line = self._places.take()
        section.end = address + INSTRUCTION_BYTES
        section.instructions.append(
            SassInstruction(
                len(section.instructions),
                address,
                guard,
                opcode,
                modifiers,
                operands,
                encoding,
                control_code(encoding),
                location,
                ptx_line,
                notes,
                line,
            )
        )

    def _body(self, text: str, line: int) -> _Body:
        body = self._bodies.get(text)
        if body is None:
            body = self._bodies[text] = self._read_body(text, line)
        return body

    def _read_body(self, text: str, line: int) -> _Body:
        notes: tuple[str, ...] = ()
        if "(*" in text:
            notes = tuple(_NOTE.findall(text))
            text = _NOTE.sub("", text).rstrip()
        found = _BODY.fullmatch(text)
        if found is None:
            raise ParseError(f"not an instruction: {text[:60]!r}", where=self._at(line))
        guard, opcode, modifiers, operands = found.groups()
        return (
            self._guard(guard, line) if guard else None,
            opcode,
            tuple(modifiers.split(".")[1:]),
            tuple(self._operand(o, line) for o in operands.split(", ")) if operands else (),
            notes,
        )

    def _guard(self, text: str, line: int) -> RegisterOperand:
        operand = self._operand(text, line)
        assert isinstance(operand, RegisterOperand)
        return operand

    def _operand(self, text: str, line: int) -> SassOperand:
        text = text.strip()
        operand = self._operands.get(text)
        if operand is None:
            try:
                operand = self._operands[text] = parse_operand(text)
            except UnreadableOperandError:
                raise ParseError(f"not an operand: {text[:60]!r}", where=self._at(line)) from None
        return operand

    def _directive(self, text: str, line: int) -> None:
        if found := _SECTION.fullmatch(text):
            name = found[1]
            self._section = self._sections.setdefault(name, _Section(name))
            self._section.functions.setdefault(name, self._section.end)
        elif found := _LABEL.fullmatch(text):
            self._label(found[1])
        elif found := _KERNEL.fullmatch(text):
            self._kernels.add(found[1])
        elif found := _TARGET.fullmatch(text):
            self._target = f"sm_{found[1] or found[2]}"
        elif text.startswith("//----"):
            self._section = None
            self._places = _Places()
        elif _BROKEN_INSTRUCTION.match(text):
            raise ParseError(
                "an instruction without its encoding, which holds the control code",
                where=self._at(line),
                hint=f"make the listing with {_LISTING_OPTIONS}",
            )

    def _label(self, name: str) -> None:
        section = self._section
        if section is None:
            return  # the function's own name stands before its section's
        if name.startswith("."):
            section.labels[name] = section.end
        else:
            section.functions[name] = section.end

    def _at(self, line: int) -> str:
        return f"{self._source}:{line}"


class _Places:
    """The remarks on source lines, which hold until the next ones.

    Where code was inlined, the location is the innermost one outside the headers of the toolkit.
    """

    def __init__(self) -> None:
        self._location: Location | None = None
        self._ptx_line: int | None = None
        self._is_fresh = False

    def read(self, file: str, line: int, outer: str) -> None:
        """Take one remark: a place, and after it where it was inlined."""
        if file == _PTX_FILE:
            self._ptx_line = line or None
        elif not self._is_fresh or (self._location and _is_toolkit(self._location.file)):
            # Of several in a row, the first is the innermost.
            self._is_fresh = True
            self._location = Location(file, line) if line else None
            if (caller := _OUTER_PLACE.match(outer)) and _is_toolkit(file):
                self._location = Location(caller[1], int(caller[2]))

    def take(self) -> tuple[Location | None, int | None]:
        """The places of the instruction that follows."""
        self._is_fresh = False
        return self._location, self._ptx_line


def _is_toolkit(file: str) -> bool:
    return _TOOLKIT_FILE.search(file) is not None
