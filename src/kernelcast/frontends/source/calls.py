"""Which function calls which, and what its parameters then hold."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from kernelcast.frontends.source.brackets import matching, split_words, template_end
from kernelcast.frontends.source.branches import conditions_around
from kernelcast.frontends.source.c_expressions import (
    Tree,
    Unknown,
    read_expression,
)
from kernelcast.frontends.source.definitions import LocalDefinitions, definitions
from kernelcast.frontends.source.folding import SIZES, NameScope, fold
from kernelcast.frontends.source.parameters import (
    WrittenParameter,
    read_parameters,
    spelled,
    template_parameters,
)
from kernelcast.frontends.source.tokens import TokenKind
from kernelcast.frontends.source.top_level import DeclarationKind, SourceDeclaration, walk
from kernelcast.frontends.source.words import Lexeme, Lexemes, as_words

_MAX_CALLERS = 8
"""Calls of one function that are told apart."""
_MAX_ALIAS = 16
"""Words of a pointer's value from which it is no other pointer, cast or moved."""
_ELEMENT = re.compile(r"\* ?(?P<pointed>\w+)|(?P<indexed>\w+) \[ \w+ \]")
"""An element of what a variable points to, as the words of a `sizeof`."""
_OPTION = "optarg"
"""What getopt (POSIX) has found behind an option."""
_MAX_DEPTH = 4
"""Functions that call each other, from a launch outwards."""


@dataclass(frozen=True)
class Setting:
    """What names mean at a word: the definitions before it and what its function was called with.

    `types` are those of names, `templates` the words of template parameters, `unbound` those
    parameters, of the template too, whose values nobody says. `is_without_arguments` says that the
    program, called without arguments, has looked for some.
    """

    scope: NameScope
    definitions: LocalDefinitions
    types: Mapping[str, str]
    templates: Mapping[str, Lexemes]
    caller: Setting | None = None
    arguments: Mapping[str, Lexemes] = field(default_factory=dict)
    unbound: frozenset[str] = frozenset()
    is_without_arguments: bool = False

    def is_local(self, name: str) -> bool:
        """Whether only the function around it knows a name."""
        held = self.definitions
        return (
            name in self.templates
            or name in self.unbound
            or name in self.types
            or name in held.values
            or name in held.opened
        )

    def spelled_out(self, words: Lexemes, depth: int = 0) -> Lexemes:
        """Template arguments, or a type, without names that only their function knows."""
        found: list[Lexeme] = []
        for word in words:
            held = self.templates.get(word.text) or self.definitions.aliases.get(word.text)
            is_new = held is not None and depth < _MAX_DEPTH and word not in held
            found += self.spelled_out(held, depth + 1) if held and is_new else (word,)
        return tuple(found)

    def type_of(self, words: Sequence[Lexeme]) -> str:
        """The type of an argument, where it is a name or a number whose type the source says."""
        text = words[0].text if len(words) == 1 else ""
        if len(words) == 1 and words[0].kind is TokenKind.NUMBER:
            return _type_of_number(text)
        type_ = self.types.get(text, "")
        bare = type_.rstrip("*")
        if bare in self.templates:
            return spelled(self.templates[bare]) + type_[len(bare) :]
        return type_

    def bytes_of(self, name: str, depth: int = 0) -> tuple[Lexemes, Setting] | None:
        """How many bytes a pointer was allocated with, here or where it was handed from."""
        if depth > _MAX_DEPTH:
            return None
        if name in self.definitions.bytes_of:
            return self.definitions.bytes_of[name], self
        held = self.definitions.values.get(name, ())
        if len(held) < _MAX_ALIAS and (found := self.bytes_behind(held, depth + 1)):
            return found
        given = self.arguments.get(name)
        if given and self.caller is not None:
            return self.caller.bytes_behind(given, depth + 1)
        return None

    def start_behind(self, words: Lexemes, depth: int = 0) -> int:
        """How many elements into what was allocated a value such as `p + n` or `&p[n]` points, as
        far as that is known: those of a pointer that it is made of, too."""
        if depth > _MAX_DEPTH or not words:
            return 0
        pointer, more = _split_pointer(words)
        folded = fold(more, self.scope) if more else None
        start = folded.value if folded is not None else 0
        own = int(start) if isinstance(start, int) and start > 0 else 0
        if len(pointer) != 1:
            return own
        name = pointer[0].text
        if name in self.definitions.bytes_of:
            return own
        held = self.definitions.values.get(name, ())
        if 0 < len(held) < _MAX_ALIAS:
            return own + self.start_behind(held, depth + 1)
        given = self.arguments.get(name)
        if given and self.caller is not None:
            return own + self.caller.start_behind(given, depth + 1)
        return own

    def bytes_behind(self, words: Lexemes, depth: int = 0) -> tuple[Lexemes, Setting] | None:
        """How many bytes were allocated where a value such as `p`, `p + n` or `&p[n]` points."""
        names = (word.text for word in words if word.kind is TokenKind.NAME)
        found = (self.bytes_of(name, depth) for name in names)
        return next((bytes_ for bytes_ in found if bytes_ is not None), None)


def _split_pointer(words: Lexemes) -> tuple[Lexemes, Lexemes]:
    """Of `p + n` and `&p[n]` the words of `p` and those of `n`; all words where it is neither."""
    texts = [word.text for word in words]
    if len(words) > 2 and words[0].kind is TokenKind.NAME and texts[1] == "+":
        return words[:1], words[2:]
    if len(words) > 4 and texts[0] == "&" and texts[2] == "[" and texts[-1] == "]":
        return words[1:2], words[3:-1]
    return words, ()


class CallGraph:
    """The functions of a source, and the constants outside of them.

    `size_of` gives the bytes of a type that the source declares.
    """

    def __init__(
        self,
        words: Sequence[Lexeme],
        declarations: Sequence[SourceDeclaration],
        size_of: Callable[[str], int | None],
    ) -> None:
        self.words = words
        self._size_of = size_of
        found = list(walk(declarations))
        self.functions = sorted(
            (d for d in found if d.kind is DeclarationKind.FUNCTION and d.body is not None),
            key=lambda d: d.begin,
        )
        self._starts = [function.begin for function in self.functions]
        self._values = constants(words, found)
        self._by_name: dict[str, list[SourceDeclaration]] = {}
        for function in self.functions:
            self._by_name.setdefault(function.names[0], []).append(function)
        self._calls = self._find_calls()
        self._instances = [d for d in found if d.kind is DeclarationKind.INSTANCE]

    def enclosing(self, at: int) -> SourceDeclaration | None:
        """The function in whose body a word stands."""
        place = bisect_right(self._starts, at) - 1
        while place >= 0:
            function = self.functions[place]
            if function.body is not None and function.body[0] <= at < function.body[1]:
                return function
            if function.end > at or place == 0:
                return None
            place -= 1
        return None

    def conditions(self, at: int) -> tuple[tuple[Lexemes, bool], ...]:
        """Every condition around a word in its function, and whether it has to hold."""
        function = self.enclosing(at)
        if function is None or function.body is None:
            return ()
        return tuple(conditions_around(self.words, function.body[0], at))

    def settings(self, at: int, depth: int = 0) -> list[Setting]:
        """What names mean at a word, once for every way the program gets there."""
        function = self.enclosing(at)
        if function is None or function.body is None:
            return [self._setting(at, None, None, ())]
        calls = self._calls.get(function.names[0], []) if depth < _MAX_DEPTH else []
        found = [
            self._setting(at, function, caller, self._bindings(function, call))
            for call in calls[:_MAX_CALLERS]
            if self.enclosing(call) is not function
            for caller in self.settings(call, depth + 1)[:1]
        ]
        made = [] if found else self._made(function)
        return found or [self._setting(at, function, None, (template, {})) for template in made]

    def _made(self, function: SourceDeclaration) -> list[dict[str, Lexemes]]:
        """The template arguments that a function is made with where nobody calls it: those of
        `template void f<float>(...);`, or none."""
        found = []
        for instance in self._instances:
            for at in range(instance.begin, instance.end - 1):
                is_made = self.words[at].text == function.names[0]
                if is_made and self.words[at + 1].text == "<":
                    bindings = self._bindings(function, at)
                    found += [bindings[0]] if bindings else []
        return found[:_MAX_CALLERS] or [{}]

    def inlined(self, name: str) -> tuple[tuple[str, ...], Tree] | None:
        """Parameters and value of a function whose body is one `return`."""
        for function in self._by_name.get(name, ()):
            assert function.body is not None
            body = self.words[slice(*function.body)]
            if len(body) > 2 and body[0].text == "return" and body[-1].text == ";":
                tree = read_expression(body[1:-1])
                parameters = read_parameters(self.words, function)
                if not isinstance(tree, Unknown):
                    return tuple(p.name for p in parameters), tree
        return None

    def _find_calls(self) -> dict[str, list[int]]:
        """Where functions are called, by their name."""
        found: dict[str, list[int]] = {}
        words = self.words
        for at in range(len(words) - 1):
            word = words[at]
            if word.text in self._by_name and words[at + 1].text in ("(", "<"):
                found.setdefault(word.text, []).append(at)
        return {
            name: [at for at in places if self.enclosing(at) is not None]
            for name, places in found.items()
        }

    def _bindings(self, function: SourceDeclaration, call: int) -> tuple[dict[str, Lexemes], ...]:
        """Template arguments and arguments of a call, by the names of the parameters."""
        words = self.words
        opening = call + 1
        template: dict[str, Lexemes] = {}
        if words[opening].text == "<":
            end = template_end(words, opening)
            if end < 0:
                return ()
            names = template_parameters(words, function)
            template = dict(zip(names, split_words(words[opening + 1 : end]), strict=False))
            opening = end + 1
        if words[opening].text != "(":
            return ()
        closing = matching(words, opening)
        given = split_words(words[opening + 1 : closing]) if closing > 0 else []
        parameters = read_parameters(words, function)
        given += [p.default for p in parameters[len(given) :] if p.default]
        return template, dict(zip((p.name for p in parameters), given, strict=False))

    def _setting(
        self,
        at: int,
        function: SourceDeclaration | None,
        caller: Setting | None,
        bindings: tuple[dict[str, Lexemes], ...],
    ) -> Setting:
        template, given = bindings if bindings else ({}, {})
        begin = function.body[0] if function is not None and function.body is not None else at
        of_program = self._of_program(function)
        if of_program:
            given = {of_program[0]: as_words("1")}
        held = definitions(self.words, begin, at, {*of_program[1:], _OPTION})
        types: dict[str, str] = {}
        if function is not None:
            parameters = read_parameters(self.words, function)
            types |= {p.name: p.type for p in parameters}
            if caller is not None:
                wanted = [n for n in template_parameters(self.words, function) if n not in template]
                template = {**template, **deduced(wanted, parameters, given, caller)}
        if caller is not None:
            template = {name: caller.spelled_out(words) for name, words in template.items()}
        types |= held.types

        def value_of(name: str) -> tuple[Lexemes | None, NameScope] | None:
            if name.startswith("typename "):
                type_ = name.removeprefix("typename ")
                words = template.get(type_) or held.aliases.get(type_)
                return None if words is None else (words, scope)
            if name in held.opened:
                return None, scope
            if name in held.values:
                return held.values[name], scope
            outer = caller.scope if caller is not None else scope
            if name in given:
                return given[name], outer
            if name in template:
                return template[name], outer
            if name in types:
                return None
            words = self._values.get(name.rpartition("::")[2])
            return None if words is None else (words, self._outside)

        scope = NameScope(value_of, self.inlined, partial(self._size_among, types))
        names = () if function is None else template_parameters(self.words, function)
        unbound = frozenset(names) - set(template)
        looked = self._looks_for(of_program, begin, at, caller)
        return Setting(scope, held, types, template, caller, given, unbound, looked)

    def _looks_for(
        self, of_program: Sequence[str], begin: int, at: int, caller: Setting | None
    ) -> bool:
        """Whether the program looks for arguments before a word, here or where it comes from."""
        if of_program:
            return any(word.text in of_program for word in self.words[begin:at])
        return caller is not None and caller.is_without_arguments

    def _of_program(self, function: SourceDeclaration | None) -> tuple[str, ...]:
        """The parameters of `main`: how many arguments the program has, itself among them, and
        which."""
        if function is None or function.names[0] != "main":
            return ()
        return tuple(p.name for p in read_parameters(self.words, function))

    def _size_among(self, types: Mapping[str, str], text: str) -> int | None:
        """Bytes of a type, or of what a variable points to, as in `sizeof(*p)` and `sizeof(p[0])`;
        `types` are those of variables."""
        written = _ELEMENT.fullmatch(text)
        name = written["pointed"] or written["indexed"] if written else ""
        if name not in types:
            return self._size_of(text)
        element = types[name].removesuffix("*")
        return 8 if element.endswith("*") else SIZES.get(element) or self._size_of(element)

    @property
    def _outside(self) -> NameScope:
        def value_of(name: str) -> tuple[Lexemes | None, NameScope] | None:
            words = self._values.get(name.rpartition("::")[2])
            return None if words is None else (words, scope)

        scope = NameScope(value_of, self.inlined, self._size_of)
        return scope


def deduced(
    wanted: Sequence[str],
    parameters: Sequence[WrittenParameter],
    given: Mapping[str, Lexemes],
    setting: Setting,
) -> dict[str, Lexemes]:
    """Template arguments that follow from the types of a call's arguments."""
    found: dict[str, Lexemes] = {}
    for parameter in parameters:
        bare = parameter.type.rstrip("*")
        words = given.get(parameter.name)
        if bare not in wanted or bare in found or not words:
            continue
        type_ = setting.type_of(words)
        stars = parameter.type[len(bare) :]
        named = type_[: len(type_) - len(stars)] if type_.endswith(stars) else ""
        if named not in ("", "auto") and not named.endswith("*"):
            found[bare] = as_words(named)
    return found


def constants(words: Sequence[Lexeme], found: Sequence[SourceDeclaration]) -> dict[str, Lexemes]:
    """Words of the values of constants and enumerators outside of functions."""
    values: dict[str, Lexemes] = {}
    for each in found:
        if each.kind is DeclarationKind.VARIABLE and each.marks & {"const", "constexpr"}:
            values |= definitions(words, each.begin, each.end).values
        elif each.kind is DeclarationKind.TYPE and "enum" in each.marks and each.body is not None:
            values |= _enumerators(words[slice(*each.body)])
    return values


def _enumerators(words: Sequence[Lexeme]) -> dict[str, Lexemes]:
    values: dict[str, Lexemes] = {}
    last: Lexemes = ()
    following = 0
    for part in split_words(words):
        if not part:
            continue
        if len(part) > 2 and part[1].text == "=":
            last, following = part[2:], 1
        elif last:
            last, following = (*last, *as_words("+ 1")), following + 1
        else:
            last = as_words("0")
        values[part[0].text] = last
    return values


def _type_of_number(text: str) -> str:
    lower = text.lower()
    if lower.startswith("0x"):
        return "int"
    if any(mark in lower for mark in ".e"):
        return "float" if lower.endswith("f") else "double"
    return "int"
