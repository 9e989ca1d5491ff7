"""Makes the tracer that a process's settings ask for."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from adapters.aws_clients import AwsClients
from adapters.settings.processes import TracedSettings
from adapters.settings.tracing import XRAY
from wsi.ports.tracing import NO_TRACER, Tracer


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
        return OpenTelemetryTracer(OtlpFile(Path(settings.traces)), share=share, on_lost=on_lost)
    daemon = os.environ.get(DAEMON_ADDRESS)
    if daemon is not None:  # Lambda: its processes sleep between events, and no thread could send meanwhile
        return OpenTelemetryTracer(XRayDaemon(daemon), share=share, in_background=False, on_lost=on_lost)
    return OpenTelemetryTracer(XRayApi(clients.get_client("xray")), share=share, on_lost=on_lost)
