"""Write the pages of the gallery: `python docs/site/gallery.py FOLDER`."""

import sys
from collections.abc import Iterator
from pathlib import Path

from kernelcast import api
from kernelcast.files import write_into
from kernelcast.frontends.workloads import Workload
from kernelcast.reporting.documents.predict import predict_document
from kernelcast.reporting.documents.report import background, report_document
from kernelcast.reporting.html import page
from kernelcast.suite.registry import kernel_named
from kernelcast.suite.table import Scale

EXAMPLES = ("saxpy", "transpose", "matmul_tiled", "reduction", "spmv_csr")
SUITE = ("gemm_register", "stencil_7pt", "histogram_global", "nbody_tiled", "spmv_csr_scalar")
GPU = "h100-sxm"


def workloads() -> Iterator[tuple[str, Workload]]:
    """The kernels of the gallery by name, each with its launches."""
    folder = Path(__file__).parents[2] / "examples"
    for name in EXAMPLES:
        yield name, api.workload(folder / f"{name}.cu")
    for name in SUITE:
        kernel = kernel_named(name)
        yield (
            name,
            Workload(kernel.source, {}, kernel.launches(Scale.FULL)[:1], kernel.source.parent),
        )


def gallery(folder: Path) -> None:
    """Forecast every kernel, and write its page below the folder."""
    for name, work in workloads():
        found = [api.predict(case) for case in api.cases(work, [api.machine(GPU)])]
        told = [background(one) for one in found]
        markup = page(report_document(found, predict_document(found), told))
        write_into(folder, {f"{name}.html": markup.encode()})
        print(folder / f"{name}.html")


if __name__ == "__main__":
    gallery(Path(sys.argv[1]))
