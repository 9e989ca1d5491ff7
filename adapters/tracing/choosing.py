"""Makes the tracer that a process's settings ask for."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from adapters.aws_clients import AwsClients
from adapters.settings.processes import TracedSettings
from adapters.settings.tracing import XRAY
from wsi.ports.tracing import NO_TRACER, Tracer

if TYPE_CHECKING:
    from adapters.tracing.recording import OpenTelemetryTracer

#: The tracers of files: the functions of the embedded stack share one process, and one file.
_open_files: dict[str, OpenTelemetryTracer] = {}
_lock = threading.Lock()


def make_tracer(
    settings: TracedSettings, clients: AwsClients, *, on_lost: Callable[[int], None] | None = None
) -> Tracer:
    """Return the tracer. `on_lost` hears of spans that could not be sent, on any thread."""
    if settings.traces is None:
        return NO_TRACER
    # Imported here: they take 13 ms of a cold start.
    from adapters.tracing.otlp_files import OtlpFile
    from adapters.tracing.recording import OpenTelemetryTracer
    from adapters.tracing.xray import DAEMON_ADDRESS, XRayApi, XRayDaemon

    share = settings.trace_share
    if settings.traces != XRAY:
        with _lock:
            if settings.traces not in _open_files:
                _open_files[settings.traces] = OpenTelemetryTracer(OtlpFile(Path(settings.traces)), share=share)
            return _open_files[settings.traces]
    daemon = os.environ.get(DAEMON_ADDRESS)
    if daemon is not None:  # Lambda: its processes sleep between events, and no thread could send meanwhile
        return OpenTelemetryTracer(XRayDaemon(daemon), share=share, in_background=False, on_lost=on_lost)
    return OpenTelemetryTracer(XRayApi(clients.get_client("xray")), share=share, on_lost=on_lost)


def close_file(path: Path) -> None:
    """Write the last spans of this process to the file, and end the thread that writes it."""
    with _lock:
        tracer = _open_files.pop(str(path), None)
    if tracer is not None:
        tracer.close()
