"""gpu_worker/locks: the packages of the worker's image, with a file for each layer of the image."""

from __future__ import annotations

from tools.locks.entries import ROOT, iterate_texts, resolve_packages

WANTED = ROOT / "gpu_worker/requirements.txt"
LOCKS = ROOT / "gpu_worker/locks"
PLATFORM = "x86_64-unknown-linux-gnu"  #: of gpu_worker/Dockerfile
#: Packages that torch needs and the image omits: 0.9 GB that make kernels at run time by a C compiler (decision 61).
LEFT_OUT = ("triton",)
#: Files of the lock, in the order of the image's layers: NVIDIA's libraries, torch, and all else.
PARTS = ("cuda", "torch", "packages")
HEADER = "# What the worker's image installs. Made by `make lock` from requirements.txt and constraints.txt.\n"


def resolve_worker() -> str:
    """Resolve the lock as it would be made now, of wheels only; return its entries as text."""
    left_out = [word for name in LEFT_OUT for word in ("--no-emit-package", name)]
    return resolve_packages([WANTED], ["--python-platform", PLATFORM, "--only-binary", ":all:", *left_out])


def choose_part(name: str) -> str:
    """Return the part of the lock that a package belongs to."""
    if name.startswith(("nvidia-", "cuda-")):
        return "cuda"
    return "torch" if name in ("torch", "torchvision") else "packages"


def write_lock(text: str) -> None:
    """Write the entries of a lock, each into its part."""
    LOCKS.mkdir(exist_ok=True)
    for part in PARTS:
        entries = (entry for name, entry in iterate_texts(text) if choose_part(name) == part)
        (LOCKS / f"{part}.lock").write_text(HEADER + "".join(entries))


def read_lock() -> str:
    """Return the whole lock."""
    return "".join((LOCKS / f"{part}.lock").read_text() for part in PARTS)
