"""Programs that were timed: run on the virtual GPU, launch beside launch."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from kernelcast.devices.forecasts import LaunchForecast
from kernelcast.devices.libraries import compiler
from kernelcast.errors import InputError, NotFoundError, ToolError
from kernelcast.ir import Launch
from kernelcast.machines.loader import load_machine
from kernelcast.measurements.observation import Observation
from kernelcast.models import load_model
from kernelcast.toolchain.clang import cuda_of_clang, find_clang
from kernelcast.toolchain.nvcc import find_host_compiler, find_nvcc
from kernelcast.validation.measured import Choice
from kernelcast.validation.programs import (
    ProgramLimits,
    _LaunchMade,
    _matched,
    validate_programs,
)
from kernelcast.validation.recipes import of_makefile, recipe_of

PROGRAMS = Path(__file__).parents[1] / "devices" / "programs"
NONE = LaunchForecast((1.0,), ())


def launched(kernel: str, blocks: int) -> _LaunchMade:
    return _LaunchMade(Launch((blocks, 1, 1), (64, 1, 1), kernel=kernel), NONE)


def observed(signature: str, blocks: int, times: int = 2) -> Observation:
    return Observation(
        "p/f", {}, (1.0,) * times, grid=(blocks, 1, 1), block=(64, 1, 1), signature=signature
    )


def test_launches_are_told_by_kernel_grid_and_block():
    made = [launched("f", 4), launched("g", 4), launched("f", 5), launched("f", 4)]
    wanted = [observed("f(int)", 4), observed("f(int)", 5), observed("h(int)", 4)]
    matched = [own for _, own in _matched(wanted, made)]
    assert matched == [[made[0], made[3]], [made[2]], []]


def test_instances_of_a_template_are_told_by_their_order():
    made = [launched("f<float>", 4), launched("f<int>", 4), launched("f<float>", 4)]
    wanted = [observed("void f<float>(T1 *)", 4), observed("void f<int>(T1 *)", 4)]
    matched = [own for _, own in _matched(wanted, made)]
    assert matched == [[made[0], made[2]], [made[1]]]


def test_as_many_launches_are_compared_as_were_timed():
    made = [launched("f", 4), launched("f", 4), launched("f", 4)]
    ((_, own),) = _matched([observed("f(int)", 4, times=2)], made)
    assert own == made[:2]


def test_a_makefile_says_what_a_program_is_made_of(tmp_path):
    (tmp_path / "Makefile").write_text(
        "source = main.cu \\\n  other.cpp\nCFLAGS = -std=c++20 -I../common -DN=4 -DX=$(Y) -Wall\n"
    )
    main, options = of_makefile(tmp_path, with_arithmetic=False)
    assert main == tmp_path / "main.cu"
    assert options.sources == (tmp_path / "other.cpp",)
    assert options.defines == ("N=4",)
    assert options.include_dirs == (tmp_path, tmp_path / "../common")
    assert options.std == "c++20"


def test_what_was_built_by_make_is_compiled_as_its_makefile_says(tmp_path):
    folder = tmp_path / "a-cuda"
    folder.mkdir()
    (folder / "main.cu").write_text("")
    (folder / "Makefile").write_text("source = main.cu\nCFLAGS := -O3 -use_fast_math\n")
    database(tmp_path, {"file": "/x/a-cuda/main.cu", "command": "clang++ -DREAL=float -c"})
    _, main, options = recipe_of(tmp_path, "a", by_make=True)
    assert (main, options.defines) == (folder / "main.cu", ())
    assert "use_fast_math" in " ".join(options.further)


def test_a_makefile_says_by_its_objects_and_choices_what_a_program_is_made_of(tmp_path):
    (tmp_path / "kernel").mkdir()
    for name in ("main.c", "kernel/one.cu", "unused.cu"):
        (tmp_path / name).write_text("")
    (tmp_path / "Makefile").write_text(
        "DEBUG = no\nTYPE = float\nCFLAGS := -std=c++14\n"
        "ifeq ($(DEBUG),yes)\nCFLAGS += -DDEBUG\nelse\nCFLAGS += -DQUIET\nendif\n"
        "ifeq ($(TYPE),float)\nCFLAGS += -DFLOAT\nendif\n"
        "run: ./main.o \\\n ./kernel/one.o\n\tnvcc main.o kernel/one.o absent.o -o run\n"
    )
    main, options = of_makefile(tmp_path, with_arithmetic=False)
    assert main == tmp_path / "main.c"
    assert options.sources == (tmp_path / "kernel/one.cu",)
    assert options.defines == ("QUIET", "FLOAT")
    assert options.std is None


def test_a_makefile_names_sources_elsewhere_and_takes_all_for_cuda(tmp_path):
    for name in ("own/main.cpp", "other/reference.cpp"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("")
    (tmp_path / "own" / "Makefile").write_text(
        "obj = main.o reference.o\nmain.o: main.cpp utils.h Makefile\n\t$(CC) -x cu -c $< -o $@\n"
        "reference.o: ../other/reference.cpp Makefile\n\t$(CC) -x cu -c $< -o $@\n"
    )
    main, options = of_makefile(tmp_path / "own", with_arithmetic=False)
    assert main.name == "main.cpp"
    assert options.all_as_cuda
    assert options.sources == (tmp_path / "own/../other/reference.cpp",)


def test_a_makefile_says_which_dialect_nvcc_takes(tmp_path):
    (tmp_path / "Makefile").write_text(
        "source = main.cu\nCFLAGS := --extended-lambda -expt-relaxed-constexpr -O3\n"
        "link: main.o\n\t$(CC) --extended-lambda main.o\n"
    )
    _, options = of_makefile(tmp_path, with_arithmetic=False)
    assert options.further == ("--extended-lambda", "--expt-relaxed-constexpr")


def test_arithmetic_of_a_makefile_is_taken_where_it_made_the_program(tmp_path):
    (tmp_path / "Makefile").write_text(
        "source = main.cu\nOPTIMIZE = yes\nCFLAGS = -Wall\n"
        "ifeq ($(OPTIMIZE),yes)\nCFLAGS += -O3 -use_fast_math --fmad=false "
        "-maxrregcount 32\nendif\n"
    )
    _, without = of_makefile(tmp_path, with_arithmetic=False)
    _, options = of_makefile(tmp_path, with_arithmetic=True)
    assert without.further == ()
    assert options.further == ("--use_fast_math", "--fmad=false", "--maxrregcount=32")


def test_without_a_makefile_all_sources_are_its_own(tmp_path):
    for name in ("a.cu", "b.cpp", "notes.txt"):
        (tmp_path / name).write_text("")
    main, options = of_makefile(tmp_path, with_arithmetic=False)
    assert (main.name, [path.name for path in options.sources]) == ("a.cu", ["b.cpp"])


@pytest.fixture
def times(tmp_path):
    """A file that says how long the launches of `vector_add` took: of 3 a millisecond each."""
    for tool in (compiler, find_nvcc, find_host_compiler):
        try:
            tool()
        except ToolError as error:
            pytest.skip(str(error))
    folder = tmp_path / "sources" / "adding-cuda"
    folder.mkdir(parents=True)
    shutil.copy(PROGRAMS / "vector_add.cu", folder)
    launch = {
        "kernel": "add(const float *, const float *, float *, int)",
        "grid": [391, 1, 1],
        "block": [256, 1, 1],
        "time_s": 1e-3,
        "dram_read_bytes": 800000,
        "dram_write_bytes": 0,
        "instructions": 100,
        "registers": 1,
    }
    other = {**launch, "grid": [7, 1, 1]}
    programs = {"adding": {"arguments": "100000 3", "launches": [launch, launch, other]}}
    file = tmp_path / "times.json"
    document = {"schema": "kernelcast/program-times/1", "device": "A GPU", "programs": programs}
    file.write_text(json.dumps(document))
    return file


def database(sources: Path, *commands: dict[str, object]) -> None:
    (sources / "compile_commands.json").write_text(json.dumps(commands))


def test_a_compilation_database_comes_before_the_makefile(tmp_path):
    """Written elsewhere, with other programs in it; of both forms that there are."""
    folder = tmp_path / "a-cuda"
    (folder / "src").mkdir(parents=True)
    for name in ("main.cu", "src/host.cpp", "Makefile"):
        (folder / name).write_text("")
    database(
        tmp_path,
        {
            "directory": "/there",
            "file": "/there/src/a-cuda/main.cu",
            "command": "clang++ -I/there/src/a-cuda/src -I/there/src/shared -I/usr/x -std=gnu++14"
            " -Dreal=float -c",
        },
        {
            "file": "/there/src/a-cuda/src/host.cpp",
            "arguments": ["clang++", "-DN=1", "-std=gnu++20"],
        },
        {"file": "/there/src/b-cuda/main.cu", "command": "clang++ -DB"},
    )
    found, main, options = recipe_of(tmp_path, "a", by_make=False)
    assert (found, main) == (folder, folder / "main.cu")
    assert options.sources == (folder / "src" / "host.cpp",)
    assert options.defines == ("real=float", "N=1")
    assert options.include_dirs == (folder, folder / "src", tmp_path / "shared")
    assert options.std == "c++20"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{", "is no compilation database"),
        ('[{"file": "/x/a-cuda/b.cu", "command": "c++ \'"}]', "is no compilation database"),
        ('[{"file": "/x/a-cuda/gone.cu", "command": ""}]', "names gone.cu, which is not in"),
    ],
)
def test_a_bad_compilation_database_is_one_clear_line(tmp_path, text, what):
    (tmp_path / "a-cuda").mkdir()
    (tmp_path / "compile_commands.json").write_text(text)
    with pytest.raises(InputError, match=what):
        recipe_of(tmp_path, "a", by_make=False)


def test_launches_that_were_not_timed_do_not_count(times):
    document = json.loads(times.read_text())
    document["programs"]["adding"]["launches"] = document["programs"]["adding"]["launches"][2:]
    times.write_text(json.dumps(document))
    with pytest.raises(InputError, match=r"no such launch was made\b(?! among)"):
        validate_programs(
            times,
            times.parent / "sources",
            load_machine("a100-sxm-80gb"),
            load_model("volkov"),
            Choice(),
            limits=ProgramLimits(launches=1),
        )


def test_a_launch_that_was_not_made_says_why(times):
    sources, chip = times.parent / "sources", load_machine("a100-sxm-80gb")
    program = sources / "adding-cuda" / "vector_add.cu"
    main = "int main(int argc, char **argv) {"
    fails = 'fprintf(stderr, "%s: no file of data\\n", argv[0]); return 3;'
    code = program.read_text()

    def why(seconds):
        limits = ProgramLimits(seconds=seconds)
        with pytest.raises(InputError) as error:
            validate_programs(times, sources, chip, load_model("volkov"), Choice(), limits=limits)
        return str(error.value)

    assert "no such launch was made within 0 s" in why(0)
    assert main in code
    program.write_text(code.replace(main, main + "for (volatile long i = 0;; i = i + 1);"))
    assert "no such launch was made within 1 s" in why(0.5)
    program.write_text("#include <cstdio>\n" + code.replace(main, main + fails))
    assert "made before it ended with exit status 3, saying: adding: no file of data" in why(60)


def test_what_a_program_launches_is_compared(times):
    answer = validate_programs(
        times,
        times.parent / "sources",
        load_machine("a100-sxm-80gb"),
        load_model("volkov"),
        Choice(),
        limits=ProgramLimits(launches=2),
    )
    (comparison,) = answer.scores["volkov"].comparisons
    assert (comparison.kernel, comparison.measured_s) == ("adding/add", 1e-3)
    assert 1e-6 < comparison.predicted_s < 1e-4
    assert comparison.low_s is not None and comparison.low_s <= comparison.predicted_s
    assert answer.missing == (
        "adding/add: no such launch was made among the first 2 that were timed",
    )
    assert (answer.code.known, answer.code.same) == (1, 0)
    metrics = {score.metric: score for score in answer.counted}
    assert metrics["dram__bytes_read.sum"].median == pytest.approx(1, rel=0.1)


def test_programs_of_clang_are_compiled_by_it(times):
    try:
        find_clang()
        cuda_of_clang()
    except ToolError as error:
        pytest.skip(str(error))
    answer = validate_programs(
        times,
        times.parent / "sources",
        load_machine("rtx-3080"),
        load_model("volkov"),
        Choice(),
        limits=ProgramLimits(launches=2),
        compiler="clang",
    )
    (comparison,) = answer.scores["volkov"].comparisons
    assert comparison.kernel == "adding/add"
    metrics = {score.metric: score for score in answer.counted}
    assert metrics["dram__bytes_read.sum"].median == pytest.approx(1, rel=0.1)


def test_what_is_not_there_is_named(times):
    def validate(sources, choice):
        chip, model = load_machine("a100-sxm-80gb"), load_model("volkov")
        return validate_programs(times, sources, chip, model, choice)

    with pytest.raises(NotFoundError, match="addin"):
        validate(times.parent / "sources", Choice(only=("addin",)))
    with pytest.raises(InputError, match="nothing can be compared"):
        validate(times.parent, Choice())
    with pytest.raises(InputError, match="long"):
        validate(times.parent, Choice(least_s=1.0))
