"""AI models over whole-slide images: run one here, read a slide's pixels, or work with an installation.

    result = tessera.run("slide.svs", model="stain-density")
    with tessera.open("slide.svs") as slide:
        pixels = slide.read_region((0, 0), 512, mpp=0.5)
    with tessera.Client(url, key) as client:
        job = client.submit("slide.svs", model="stain-density")

Each name is loaded when it is first used: importing the package costs no numpy and no torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tessera.public.client import Client
    from tessera.public.errors import JobFailed, SlideRejected, TesseraError, TileUnreadable, UsageError
    from tessera.public.image import WholeSlideImage, open
    from tessera.public.job_watch import JobWatch
    from tessera.public.result import RunResult
    from tessera.public.run import run
    from tessera.public.version import __version__

__all__ = [
    "Client",
    "JobFailed",
    "JobWatch",
    "RunResult",
    "SlideRejected",
    "TesseraError",
    "TileUnreadable",
    "UsageError",
    "WholeSlideImage",
    "__version__",
    "open",
    "run",
]

#: public name -> the module of `tessera.public` that holds it
_MODULES: Final = {
    "Client": "client",
    "JobFailed": "errors",
    "JobWatch": "job_watch",
    "RunResult": "result",
    "SlideRejected": "errors",
    "TesseraError": "errors",
    "TileUnreadable": "errors",
    "UsageError": "errors",
    "WholeSlideImage": "image",
    "__version__": "version",
    "open": "image",
    "run": "run",
}


def __getattr__(name: str) -> Any:
    """Load a public name on its first use."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.public.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
