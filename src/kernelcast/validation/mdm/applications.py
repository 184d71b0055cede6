"""Table IV: what the memory-divergence model is judged on, written anew for this project.

L. Wang, M. Jahre, A. Adileh, L. Eeckhout: MDM: The GPU Memory Divergence Model. MICRO 2020. The
kernels are of the kinds of the paper's, their code and data are our own: sizes exceed the LLC of
Table III, and each is forecast in less than a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelcast.errors import NotFoundError
from kernelcast.frontends.workloads import Workload, read_workload
from kernelcast.machines.loader import load_machine
from kernelcast.machines.machine import Machine

_FOLDER = Path(__file__).parent
_KERNELS = _FOLDER / "kernels"


@dataclass(frozen=True, slots=True)
class Application:
    """A row of Table IV: the workload file of its kernels, and whether the paper's diverge."""

    name: str
    title: str
    file: Path
    is_divergent: bool

    def workload(self) -> Workload:
        """Its launches in order."""
        return read_workload(self.file)


def _application(name: str, title: str, file: str, *, is_divergent: bool = False) -> Application:
    return Application(name, title, _KERNELS / file, is_divergent)


def _divergent(name: str, title: str, file: str) -> Application:
    return _application(name, title, file, is_divergent=True)


APPLICATIONS = (
    _application("HS", "hotspot", "hotspot.cu"),
    _application("BT", "B+ tree", "btree.cu"),
    _application("BP", "back propagation", "backprop.cu"),
    _application("FDTD", "finite differences in 3D", "fdtd3d.cu"),
    _application("SRAD", "speckle reducing diffusion", "srad.cu"),
    _application("RAY", "ray tracing", "ray.cu"),
    _application("2DCONV", "2D convolution", "convolution2d.cu"),
    _application("ST", "stencil", "stencil.cu"),
    _divergent("CFD", "Euler solver", "cfd.cu"),
    _divergent("BFS", "breadth-first search", "bfs.toml"),
    _divergent("PVR", "page view rank", "page_view_rank.toml"),
    _divergent("PVC", "page view count", "page_view_count.toml"),
    _divergent("IIX", "inverted index", "inverted_index.toml"),
    _divergent("SPMV", "sparse matrix product", "spmv.toml"),
    _divergent("KMEANS", "k-means", "kmeans.cu"),
    _divergent("AN", "layers of AlexNet's kind", "alexnet.toml"),
    _divergent("RN", "layers of ResNet's kind", "resnet.toml"),
)
"""The 8 that are not memory-divergent, then the 9 that are."""

LISTING_1 = _KERNELS / "listing1.cu"
"""Listing 1, with GS = 1 and GS = 32."""


def chosen_applications(only: Sequence[str]) -> tuple[Application, ...]:
    """Those of these names, all where none is named; NotFoundError with the nearest names."""
    names = [application.name for application in APPLICATIONS]
    for name in only:
        if name not in names:
            raise NotFoundError("application", name, names)
    return tuple(a for a in APPLICATIONS if not only or a.name in only)


def paper_machine() -> Machine:
    """The machine of Table III; it stands here, not among the GPUs, since it is none."""
    return load_machine(str(_FOLDER / "table_iii.toml"))
