"""How many of NVIDIA's CUDA samples run on the virtual GPU: built, run, and counted by cause.

    python measurements/cuda_samples.py SAMPLES --results DIR [--only NAME,... --seconds 60]

SAMPLES is a checkout of https://github.com/NVIDIA/cuda-samples. The rule: all folders below
`Samples` whose sources include no header of graphics or of a library that is not the compiler's
own, and whose CMakeLists.txt makes a program of them. Each is built with nvcc from PyPI, all its
sources at once, with the flags that `docs/run.md` names, and run in its folder without arguments,
for as much time as two cores give in `seconds`. A sample passes that ends with status 0 and prints
no failure; one that ends with status 2 says that the device lacks what it shows (`EXIT_WAIVED`),
and is counted apart. Results are kept in DIR, a file each, so that a run goes on where it was
ended.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from pathlib import Path

from hecbench import compiled, environment, ran, summary

from kernelcast.devices.libraries import libraries

_GPU = "h100-sxm"
_TARGET = "90a"
_SOURCES = (".cu", ".cpp", ".c")
_TEXTS = (*_SOURCES, ".h", ".cuh", ".hpp", ".inl")
_OTHERS = re.compile(
    r"#\s*include\s*[<\"](cublas|cusparse|cufft|cusolver|curand|npp|nvjpeg|nvrtc|nvvm|nvJitLink|"
    r"GL/|GLES|helper_gl|rendercheck|X11|d3d|D3D|vulkan|egl|EGL|cudaEGL|mpi|omp\.h|nvsci|cudla|"
    r"FreeImage|screen|llvm)"
)
_WAIVED = "status 2"


def samples(root: Path) -> list[Path]:
    """The folders that the rule names."""
    folders = sorted(path.parent for path in (root / "Samples").rglob("CMakeLists.txt"))
    return [folder for folder in folders if _is_whole(folder)]


def _is_whole(folder: Path) -> bool:
    texts = [p.read_text(errors="replace") for p in folder.iterdir() if p.suffix in _TEXTS]
    is_program = "add_executable" in (folder / "CMakeLists.txt").read_text()
    return is_program and bool(texts) and not any(_OTHERS.search(text) for text in texts)


def built(folder: Path, root: Path, program: Path, env: dict[str, str]) -> str:
    """Build a sample; why it cannot be built, or nothing."""
    recipe = (folder / "CMakeLists.txt").read_text()
    common = ["-std=c++17", f"-I{root / 'Common'}", f"-arch=sm_{_TARGET}", "-O2"]
    named = re.findall(r"[\w./]+\.(?:cu|cpp|c)\b", _executable(recipe))
    calls = [
        ["nvcc", *common, "-fatbin", source, "-o", f"{Path(source).stem}64.fatbin"]
        for source in re.findall(r"/(\w+\.cu)", recipe)
        if "fatbin" in recipe and source not in named
    ]
    further = ["--extended-lambda", f"-L{libraries()}", "-l:libcuda.so.1"]
    if "CUDA_SEPARABLE_COMPILATION ON" in recipe and "cudadevrt" in recipe:
        further.append("-rdc=true")
    calls.append(["nvcc", *common, *further, *named, "-o", str(program)])
    failures = (compiled(call, folder, env) for call in calls)
    return next(filter(None, failures), "")


def _executable(recipe: str) -> str:
    """What `add_executable` names."""
    found = re.search(r"add_executable\(([^)]*)\)", recipe)
    return found[1] if found else ""


def tried(folder: Path, root: Path, results: Path, seconds: float) -> dict[str, object]:
    """Build and run one sample."""
    env, program = environment(), results / folder.name
    started = time.monotonic()
    cause = built(folder, root, program, env)
    build_s = time.monotonic() - started
    started = time.monotonic()
    if not cause:
        cause = ran(folder, [str(program)], env, results / f"{folder.name}.txt", seconds, _GPU)
        program.unlink(missing_ok=True)
    if cause.startswith(_WAIVED):
        cause = f"waived; {cause}"
    return {
        "program": folder.name,
        "cause": cause,
        "build_s": round(build_s, 1),
        "run_s": round(time.monotonic() - started, 1),
    }


def main() -> None:
    """Run what has no result yet, and say how many pass."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("samples", type=Path)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--only", default="", help="names of samples, to be run anew")
    parser.add_argument("--seconds", type=float, default=60)
    given = parser.parse_args()
    given.results.mkdir(parents=True, exist_ok=True)
    root, results = given.samples.resolve(), given.results.resolve()
    only, found = set(filter(None, given.only.split(","))), []
    for folder in samples(root):
        kept = results / f"{folder.name}.json"
        if folder.name in only or not (only or kept.exists()):
            one = tried(folder, root, results, given.seconds)
            kept.write_text(json.dumps(one))
            print(json.dumps(one), flush=True)
        if kept.exists():
            found.append(json.loads(kept.read_text()))
    print(summary(found))


if __name__ == "__main__":
    main()
