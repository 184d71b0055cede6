"""The launches of a source, in the words of a workload: constants computed, the rest named."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kernelcast.frontends.source.brackets import split_words
from kernelcast.frontends.source.calls import CallGraph, Setting, deduced
from kernelcast.frontends.source.device_source import read_source
from kernelcast.frontends.source.element_types import ELEMENT_TYPES
from kernelcast.frontends.source.folding import (
    SIZES,
    Folded,
    fold,
    fold_extent,
    open_name,
    product,
    quotient,
)
from kernelcast.frontends.source.header_folders import NO_FOLDERS, HeaderFolders
from kernelcast.frontends.source.image_reads import image_read
from kernelcast.frontends.source.launch_sites import (
    LaunchSite,
    called_kernel,
    launch_sites,
)
from kernelcast.frontends.source.parameters import (
    WrittenParameter,
    read_parameters,
    spelled,
    template_parameters,
)
from kernelcast.frontends.source.preprocess import SourceView
from kernelcast.frontends.source.struct_layouts import SourceTypes
from kernelcast.frontends.source.tokens import TokenKind
from kernelcast.frontends.source.top_level import SourceDeclaration, walk
from kernelcast.frontends.source.value_skeletons import image_skeleton, is_image, struct_skeleton
from kernelcast.frontends.source.words import Lexeme, Lexemes
from kernelcast.ir.value_types import ScalarType, StructType


@dataclass(frozen=True)
class SourceLaunch:
    """A launch that a source makes, as expressions of a workload.

    `kernel` is its name with template arguments, `is_known` whether the source declares it and all
    of its template arguments are said; `opened` are the names whose values the source does not
    say, with the words it has in their place. `is_without_arguments` says that the program looks at
    its arguments before; it is taken to be called without any. No condition around it is known not
    to hold if it `is_reached`. Of the names `opened`, those are `real` that a kernel is only given
    as floating-point numbers: they hardly decide where it goes.
    """

    kernel: str
    is_known: bool
    grid: tuple[str, ...]
    block: tuple[str, ...]
    smem: str
    arguments: Mapping[str, str]
    opened: Mapping[str, str]
    place: str
    line: int
    names: frozenset[str] = field(default=frozenset(), repr=False)
    is_without_arguments: bool = False
    is_reached: bool = True
    real: frozenset[str] = frozenset()

    @property
    def asked(self) -> list[str]:
        """The names of `opened` that have to be given."""
        return [name for name in self.opened if name not in self.real]


def source_launches(
    view: SourceView, declarations: Sequence[SourceDeclaration]
) -> tuple[SourceLaunch, ...]:
    """All launches in a source and the files it includes, in order, each once."""
    sites = list(launch_sites(view.words))
    if not sites:
        return ()
    types = SourceTypes(view.words, declarations)
    program = CallGraph(view.words, declarations, types.size_of)
    kernels: dict[str, list[SourceDeclaration]] = {}
    for each in walk(declarations):
        if each.is_kernel:
            kernels.setdefault(each.names[0], []).append(each)
    found = dict.fromkeys(
        _Key(launch)
        for site in sites
        for conditions in [program.conditions(site.at)]
        for setting in program.settings(site.at)
        for launch in [_SiteReader(view, kernels, types, site, setting, conditions).read()]
    )
    return tuple(key.launch for key in found)


def launches_of(
    text: str,
    path: str,
    folders: HeaderFolders = NO_FOLDERS,
    defines: Iterable[str] = (),
) -> tuple[SourceLaunch, ...]:
    """All launches of a source file, read without a compiler.

    `defines` are `NAME` or `NAME=VALUE`.
    """
    return source_launches(*read_source(text, path, folders, _ANY, _ANY_VERSION, defines))


_ANY, _ANY_VERSION = "sm_90", (13, 0)
"""What host code is read for: it does not depend on the architecture."""


@dataclass(frozen=True, eq=False)
class _Key:
    """Tells launches apart by all but the names they need."""

    launch: SourceLaunch

    def _parts(self) -> tuple[object, ...]:
        x = self.launch
        return x.kernel, x.grid, x.block, x.smem, tuple(x.arguments.items()), x.place

    def __hash__(self) -> int:
        return hash(self._parts())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self._parts() == other._parts()


_REAL = frozenset({"float", "double", "half", "__half", "__nv_bfloat16", "nv_bfloat16"})


@dataclass
class _SiteReader:
    """One launch being read."""

    view: SourceView
    kernels: Mapping[str, list[SourceDeclaration]]
    types: SourceTypes
    site: LaunchSite
    setting: Setting
    conditions: Sequence[tuple[Lexemes, bool]] = ()
    opened: dict[str, str] = field(default_factory=dict)
    whole: set[str] = field(default_factory=set)
    body: tuple[int, int] = (0, 0)

    def read(self) -> SourceLaunch:
        name, template = self._callee()
        given = self._arguments()
        declared = self._declared(name, given)
        parameters = read_parameters(self.view.words, declared) if declared else ()
        given += tuple(p.default for p in parameters[len(given) :] if p.default)
        self.body = declared.body if declared is not None and declared.body else (0, 0)
        bound, is_bound = self._template(declared, template, parameters, given)
        name = declared.name if declared is not None else name
        kernel = f"{name}<{', '.join(map(spelled, bound.values()))}>" if bound else name
        grid, block = self._extent(self.site.grid), self._extent(self.site.block)
        smem = self._one(self.site.smem).text if self.site.smem else "0"
        arguments = dict(self._labelled(parameters, given, bound))
        word = self.view.words[self.site.at]
        names = {w.text for words in bound.values() for w in words if w.kind is TokenKind.NAME}
        return SourceLaunch(
            kernel=kernel,
            is_known=declared is not None and is_bound,
            grid=grid,
            block=block,
            smem=smem,
            arguments=arguments,
            opened=self.opened,
            place=self.view.place(word),
            line=self.view.line(word),
            names=frozenset(names),
            is_without_arguments=self.setting.is_without_arguments,
            is_reached=self._is_reached(),
            real=frozenset(self.opened.keys() - self.whole),
        )

    def _is_reached(self) -> bool:
        """Whether no condition around the launch is known to have another value than it needs."""
        for condition, wanted in self.conditions:
            value = fold(condition, self.setting.scope).value
            if value is not None and bool(value) != wanted:
                return False
        return True

    def _callee(self) -> tuple[str, Lexemes]:
        """The kernel's name; one that a variable or a parameter holds is followed."""
        name, template = self.site.kernel, self.site.template
        setting: Setting | None = self.setting
        for _ in range(4):
            if name.rpartition("::")[2] in self.kernels or template or setting is None:
                break
            held = setting.scope.value_of(name)
            found = called_kernel(held[0]) if held is not None and held[0] else None
            if found is None or found == (name, ()):
                break
            name, template = found
        return name, template

    def _arguments(self) -> tuple[Lexemes, ...]:
        """The words of every argument; of `void* args[] = {&a, &b}` those behind the `&`."""
        if self.site.arguments is not None:
            return self.site.arguments
        packed = self.site.packed
        if len(packed) == 1:
            held = self.setting.definitions.values.get(packed[0].text)
            packed = tuple(held) if held else ()
        if not packed or packed[0].text != "{":
            return ()
        parts = split_words(packed[1:-1])
        return tuple(_behind_address(part) for part in parts)

    def _declared(self, name: str, given: Sequence[Lexemes]) -> SourceDeclaration | None:
        """The declaration that fits the arguments best."""
        found = self.kernels.get(name.rpartition("::")[2], [])
        fitting = [
            each for each in found if len(read_parameters(self.view.words, each)) == len(given)
        ]
        return next(iter(fitting or found), None)

    def _template(
        self,
        declared: SourceDeclaration | None,
        template: Lexemes,
        parameters: Sequence[WrittenParameter],
        given: Sequence[Lexemes],
    ) -> tuple[dict[str, Lexemes], bool]:
        """Template arguments by parameter, and whether all are said."""
        parts = [self._constant(part) for part in split_words(template)]
        if declared is None or declared.template is None:
            return {str(at): part for at, part in enumerate(parts)}, True
        names = template_parameters(self.view.words, declared)
        if len(parts) > len(names):  # `typename... Ts`
            return {str(at): part for at, part in enumerate(parts)}, True
        bound: dict[str, Lexemes] = dict(zip(names, parts, strict=False))
        rest = [name for name in names if name not in bound]
        labelled = {p.name: words for p, words in zip(parameters, given, strict=False)}
        bound |= deduced(rest, parameters, labelled, self.setting)
        is_said = all(self._is_said(words) for words in bound.values())
        defaults = split_words(self.view.words[slice(*declared.template)])
        missing = [
            name
            for name, part in zip(names, defaults, strict=False)
            if name not in bound and "=" not in [w.text for w in part]
        ]
        ordered = {name: bound[name] for name in names if name in bound}
        return ordered, is_said and not missing

    def _constant(self, words: Lexemes) -> Lexemes:
        """A template argument without names that only its function knows, as far as they are
        said: numbers by their value, types by what they stand for."""
        spelled_out = self.setting.spelled_out(words)
        if self._is_said(spelled_out):
            return spelled_out
        folded = fold(words, self.setting.scope)
        if not isinstance(folded.value, int):
            return spelled_out
        return (Lexeme(TokenKind.NUMBER, str(folded.value), 0, 0, 0),)

    def _is_said(self, words: Lexemes) -> bool:
        """Whether no word is a name that only a function knows."""
        at: Setting | None = self.setting
        names = [word.text for word in words if word.kind is TokenKind.NAME]
        while at is not None and "auto" not in names:
            if any(map(at.is_local, names)):
                return False
            at = at.caller
        return "auto" not in names

    def _extent(self, words: Lexemes) -> tuple[str, ...]:
        sizes = fold_extent(words, self.setting.scope)
        for size in sizes:
            self._open(size)
        texts = [size.text for size in sizes]
        while len(texts) > 1 and texts[-1] == "1":
            texts.pop()
        return tuple(texts)

    def _one(self, words: Lexemes) -> Folded:
        folded = fold(words, self.setting.scope)
        self._open(folded)
        return folded

    def _open(self, folded: Folded, *, is_real: bool = False) -> None:
        """Note the names in an expression whose values nobody says."""
        self.opened |= folded.opened
        if not is_real:
            self.whole.update(folded.opened)

    def _labelled(
        self,
        parameters: Sequence[WrittenParameter],
        given: Sequence[Lexemes],
        bound: Mapping[str, Lexemes],
    ) -> Iterator[tuple[str, str]]:
        fits = len(parameters) == len(given)
        for at, words in enumerate(given):
            parameter = parameters[at] if fits else WrittenParameter("", "")
            label = parameter.name or f"argument_{at}"
            bare = parameter.type.rstrip("*")
            if bare in bound:
                type_ = spelled(bound[bare]) + parameter.type[len(bare) :]
                parameter = WrittenParameter(label, type_)
            yield label, self._argument(label, parameter.type, words)

    def _argument(self, label: str, type_: str, words: Lexemes) -> str:
        known = type_ or self.setting.type_of(words)
        allocated = self.setting.bytes_behind(words)
        if known.endswith("*") or (not type_ and allocated is not None):
            start = self.setting.start_behind(words) if allocated is not None else 0
            return self._array(label, known.removesuffix("*"), allocated, start)
        skeleton = self._skeleton(label, known)
        if skeleton is not None:
            self._open(skeleton)
            return skeleton.text
        if not words:
            return "0"
        folded = fold(words, self.setting.scope)
        self._open(folded, is_real=known in _REAL)
        return folded.text

    def _skeleton(self, label: str, type_: str) -> Folded | None:
        """Of a struct or a texture, whose values are never constants of the source."""
        if is_image(type_):
            read = image_read(self.view.words, self.body, label)
            return image_skeleton(label, type_, read)
        if type_ in ELEMENT_TYPES:
            return None
        layout = self.types.type_of(type_)
        return struct_skeleton(label, layout) if isinstance(layout, StructType) else None

    def _array(
        self, label: str, pointee: str, allocated: tuple[Lexemes, Setting] | None, start: int = 0
    ) -> str:
        """An array of as many elements as were allocated; where that is not said, of an open
        number. The pointer points `start` elements into it."""
        element, size = self._element(pointee)
        if allocated is None:
            length = open_name(f"{label}_length", f"elements of {label}")
        else:
            length = _elements(allocated[0], size, allocated[1])
        self._open(length)
        return f"{element}[{length.text}]{f' + {start}' if start else ''}"

    def _element(self, type_: str) -> tuple[str, int]:
        """The element type of arrays of a C++ type, and its bytes; bytes for what is no number."""
        if type_ in ELEMENT_TYPES:
            return ELEMENT_TYPES[type_], SIZES.get(type_, 1)
        found = self.types.type_of(type_)
        return (found.name, found.size_bytes) if isinstance(found, ScalarType) else ("b8", 1)


def _elements(words: Lexemes, size: int, setting: Setting) -> Folded:
    """How many elements of a size fit into so many bytes."""
    folded = fold(words, setting.scope)
    if folded.value is not None:
        count = int(folded.value) // size
        return Folded(str(count), count)
    rest = list(folded.factors)
    sizes = [factor for factor in rest if factor.value == size]
    if size == 1 or (sizes and len(rest) > 1):
        if size > 1:
            rest.remove(sizes[-1])
        return product(rest) if rest else folded
    return quotient(folded, Folded(str(size), size))


def _behind_address(words: Lexemes) -> Lexemes:
    """`&a` and `(void*)&a` as `a`."""
    at = next((at for at, word in enumerate(words) if word.text == "&"), -1)
    return words[at + 1 :] if at >= 0 else words
