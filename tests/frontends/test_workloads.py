from __future__ import annotations

from pathlib import Path

import pytest

from kernelcast.errors import InputError, LaunchError, NotFoundError, ParseError
from kernelcast.frontends.launches import launch_from_flags
from kernelcast.frontends.workloads import LaunchFlags, Workload, parse_workload, read_workload
from kernelcast.ir import Array, Fill, Launch

HEADER = """\
n = "1 << 10"
half = "n // 2"

[[launch]]
kernel = "first"
grid = ["cdiv(n, 256)", 2]
block = [32, "min(8, n)"]
smem = "4 * half"
repeat = 3
carveout = 25
args = { n = "n", a = 2.0, x = "f32[n] random(1)" }
"""
SECOND = """
[[launch]]
kernel = "second"
grid = 1
block = 256
args = { x = "f32[n] random(1)", table = 'f32[n] file("table.npy")' }
"""


def array(launch: Launch, label: str) -> Array:
    value = launch.args[label]
    assert isinstance(value, Array)
    return value


@pytest.fixture
def source(tmp_path: Path):
    def write(block: str, name: str = "app.cu") -> Path:
        path = tmp_path / name
        path.write_text(f"// a line\n/* kernelcast\n{block}*/\n__global__ void first() {{}}\n")
        return path

    return write


def test_a_comment_block_is_a_workload(source) -> None:
    path = source(HEADER + SECOND)
    work = read_workload(path)
    assert work.source == path
    assert work.base_dir == path.parent
    assert work.names == {"n": 1024, "half": 512}
    first, second = work.launches
    x = Array("f32", (1024,), Fill("random", (1,)))
    assert first == Launch(
        grid=(4, 2, 1),
        block=(32, 8, 1),
        args={"n": 1024, "a": 2.0, "x": x},
        smem_bytes=2048,
        kernel="first",
        repeat=3,
        carveout=25,
    )
    assert list(first.args) == ["n", "a", "x"]
    assert second.kernel == "second"
    assert second.repeat == 1
    assert second.args["table"] == Array("f32", (1024,), Fill("file", path="table.npy"))


def test_a_workload_file_says_the_same_as_a_comment_block(source, tmp_path: Path) -> None:
    path = source(HEADER)
    file = tmp_path / "app.toml"
    file.write_text('source = "app.cu"\n' + HEADER)
    assert read_workload(file) == read_workload(path)


def test_flags_say_the_same_as_a_comment_block(tmp_path: Path) -> None:
    launch = launch_from_flags(
        "cdiv(1024, 256),2", "32,8", "2048", ["n=1 << 10", "a=2.0", "x=f32[n] random(1)"]
    )
    written = parse_workload(HEADER, file="x", base_dir=tmp_path, source=tmp_path).launches[0]
    assert (launch.grid, launch.block, launch.smem_bytes) == (
        written.grid,
        written.block,
        written.smem_bytes,
    )
    assert list(launch.args.items()) == list(written.args.items())


def test_a_subtable_serves_for_many_arguments(source) -> None:
    block = "n = 4\n[[launch]]\ngrid = 1\nblock = 1\n[launch.args]\nn = 'n'\nx = 'f32[n]'\n"
    assert list(read_workload(source(block)).launches[0].args) == ["n", "x"]


def test_a_file_without_a_block_needs_grid_and_block(tmp_path: Path) -> None:
    path = tmp_path / "plain.cu"
    path.write_text("__global__ void k(int n) {}")
    with pytest.raises(LaunchError, match="--grid and --block"):
        read_workload(path)
    with pytest.raises(LaunchError, match="--grid and --block"):
        read_workload(path, LaunchFlags(grid="4"))
    work = read_workload(path, LaunchFlags(grid="4", block="2", args=("n=3",), kernel="k"))
    assert work.launches == (Launch((4, 1, 1), (2, 1, 1), {"n": 3}, kernel="k"),)


def test_names_alone_serve_a_launch_of_flags(source) -> None:
    work = read_workload(source("n = 512\n"), LaunchFlags(grid="n // 256", block="256"))
    assert work.launches[0].grid == (2, 1, 1)


class TestFlagsOverABlock:
    """What `--arg` and its like change in a written launch."""

    def read(self, source, text: str = HEADER, **flags: object) -> Workload:
        return read_workload(source(text), LaunchFlags(**flags))  # type: ignore[arg-type]

    def test_a_name_changes_everything_that_depends_on_it(self, source) -> None:
        work = self.read(source, args=("n=512",))
        assert work.names == {"n": 512, "half": 256}
        launch = work.launches[0]
        assert (launch.grid, launch.smem_bytes) == ((2, 2, 1), 1024)
        assert launch.args["n"] == 512
        assert launch.args["x"] == Array("f32", (512,), Fill("random", (1,)))

    def test_else_an_argument_is_replaced_in_place(self, source) -> None:
        launch = self.read(source, args=("a=half / 4",)).launches[0]
        assert list(launch.args.items())[:2] == [("n", 1024), ("a", 128.0)]

    def test_an_argument_of_several_launches_changes_in_all(self, source) -> None:
        work = self.read(source, HEADER + SECOND, args=("x=f32[8]",))
        assert [array(launch, "x").shape for launch in work.launches] == [(8,), (8,)]

    def test_an_unknown_one_suggests_the_nearest(self, source) -> None:
        with pytest.raises(NotFoundError, match="did you mean half"):
            self.read(source, args=("hlaf=2",))

    def test_grid_block_and_smem_replace_those_of_the_only_launch(self, source) -> None:
        launch = self.read(source, grid="n,half,2", block="64", smem="half").launches[0]
        assert (launch.grid, launch.block, launch.smem_bytes) == (
            (1024, 512, 2),
            (64, 1, 1),
            512,
        )

    def test_of_several_launches_the_kernel_must_be_named(self, source) -> None:
        with pytest.raises(LaunchError, match="--kernel"):
            self.read(source, HEADER + SECOND, grid="1")
        work = self.read(source, HEADER + SECOND, grid="7", kernel="second")
        assert [(launch.kernel, launch.grid) for launch in work.launches] == [("second", (7, 1, 1))]
        with pytest.raises(NotFoundError, match="did you mean second"):
            self.read(source, HEADER + SECOND, kernel="secnd")

    def test_the_only_launch_takes_another_kernel(self, source) -> None:
        text = HEADER.replace('"first"', '"tiled< 16 >"')
        assert self.read(source, text, kernel="tiled<16>").launches[0].kernel == "tiled< 16 >"
        assert self.read(source, text, kernel="tiled<32>").launches[0].kernel == "tiled<32>"

    def test_a_file_of_the_flags_starts_where_the_user_is(
        self, source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        flags = {"args": ('x=f32[4] file("mine.npy")',), "kernel": "second"}
        launch = self.read(source, HEADER + SECOND, **flags).launches[0]
        assert array(launch, "x").fill.path == str(tmp_path / "mine.npy")
        assert array(launch, "table").fill.path == "table.npy"

    @pytest.mark.parametrize("text", ["n", "=3", "n=", "2n=3", "a b=1"])
    def test_a_malformed_one_is_named(self, source, text: str) -> None:
        with pytest.raises(InputError, match="NAME=VALUE"):
            self.read(source, args=(text,))

    def test_one_given_twice_is_refused(self, source) -> None:
        with pytest.raises(InputError, match="n is given twice"):
            self.read(source, args=("n=1", "n=2"))


LAUNCH = "[[launch]]\ngrid = 1\nblock = 1\n"


@pytest.mark.parametrize(
    ("block", "line", "what"),
    [
        ("n = \n", 3, "not TOML"),
        ("n = 1\nx = f32[3]\n", 4, "not TOML"),
        ("n = 1\nn = 2\n", 4, "not TOML"),
        ('n = 1\nm = "n +"\n', 4, "expected a value"),
        ("n = [1]\n", 3, "neither a finite number nor an expression"),
        ("n = inf\n", 3, "neither a finite number"),
        ("n = true\nm = 1979-05-27\n", 4, "neither a finite number"),
        ("min = 3\n", 3, "cannot be a name"),
        ('"a b" = 3\n', 3, "cannot be a name"),
        ('source = "x.cu"\n' + LAUNCH, 3, "workload files only"),
        ("[[launch]]\ngrid = 1\n", 3, "no block"),
        ("\n[[launch]]\nblock = 1\n", 4, "no grid"),
        (LAUNCH + "gird = 3\n", 6, "unknown launch key 'gird'"),
        (LAUNCH + "args = 3\n", 3, "args is not a table"),
        (LAUNCH + "kernel = 3\n", 3, "not a name"),
        (LAUNCH + "repeat = 0\n", 3, "0 is less than 1"),
        (LAUNCH + "smem = -4\n", 3, "-4 is less than 0"),
        (LAUNCH + "carveout = 101\n", 3, "101 is more than 100"),
        (LAUNCH + "carveout = -1\n", 3, "-1 is less than 0"),
        (LAUNCH + "args = { x = 'f32[k]' }\n", 3, "unknown name 'k'"),
    ],
)
def test_a_wrong_block_is_named_with_its_line(source, block: str, line: int, what: str) -> None:
    path = source(block)
    with pytest.raises(InputError) as caught:
        read_workload(path)
    assert what in caught.value.what
    assert caught.value.where.startswith(f"{path}:{line}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("grid", "block", "what"),
    [
        ("0", "1", "grid: 0 is less than 1"),
        ('"-1"', "1", "grid: -1 is less than 1"),
        ("1.5", "1", "grid: 1.5 is not an integer"),
        ('"1024 / 256"', "1", "grid: 4.0 is not an integer"),
        ("[]", "1", "grid: 0 dimensions"),
        ("[1, 1, 1, 1]", "1", "grid: 4 dimensions"),
        ("[1, 65536]", "1", "grid: y is 65536"),
        ('"1 << 31"', "1", "grid: x is 2147483648"),
        ("1", "[1, 1, 65]", "block: z is 65"),
        ("1", "1025", "block: x is 1025"),
        ("1", "[32, 33]", "block: 1056 threads per block"),
        ("true", "1", "grid: True is not a number"),
        ("[[1]]", "1", "grid: [1] is not a number"),
    ],
)
def test_a_wrong_grid_or_block_is_named(source, grid: str, block: str, what: str) -> None:
    with pytest.raises(LaunchError) as caught:
        read_workload(source(f"[[launch]]\ngrid = {grid}\nblock = {block}\n"))
    assert what in str(caught.value)


def test_a_table_that_is_no_launch_list_says_how_to_write_one(source) -> None:
    for block in ("[launch]\ngrid = 1\n", "launch = 3\n", "[lunch]\ngrid = 1\n"):
        with pytest.raises(InputError, match=r"\[\[launch\]\]"):
            read_workload(source(block))


def test_a_syntax_error_is_a_parse_error_at_its_own_line(tmp_path: Path) -> None:
    file = tmp_path / "app.toml"
    file.write_text('source = "x.cu"\n[[launch]]\ngrid = 1\nblock = = 1\n')
    with pytest.raises(ParseError) as caught:
        read_workload(file)
    assert caught.value.where == f"{file}:4"
    file.write_text('source = "x.cu"\n[[launch]]\nargs = { a = 1')
    with pytest.raises(ParseError) as caught:
        read_workload(file)
    assert caught.value.where == f"{file}:3"


def test_a_workload_file_must_name_its_source(tmp_path: Path) -> None:
    file = tmp_path / "app.toml"
    file.write_text(LAUNCH)
    with pytest.raises(InputError, match="names no source"):
        read_workload(file)
    file.write_text("source = 3\n" + LAUNCH)
    with pytest.raises(InputError, match="names no source"):
        read_workload(file)
    file.write_text('source = "sub/x.cu"\n' + LAUNCH)
    assert read_workload(file).source == tmp_path / "sub" / "x.cu"


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_workload(tmp_path / "none.cu")
    with pytest.raises(InputError, match="cannot read the file"):
        read_workload(tmp_path)
