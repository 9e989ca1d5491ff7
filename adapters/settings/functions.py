"""What the functions share with who deploys or imitates them."""

from __future__ import annotations

from collections.abc import Mapping

#: s, by function: how long an invocation may take.
TIMEOUTS: Mapping[str, int] = {
    "api": 29,  # API Gateway hangs up then
    "tiles": 20,  # three tries of a read, and the slide's index before
    "authorizer": 10,
    "relay": 30,
    "inspect": 300,
    "plan": 300,
    "stitch": 900,
    "sweep": 60,
    "notify": 60,
    "webhook_send": 15,
    "migrate": 600,
    "administer": 60,
}

#: Messages a call: one run of the relay answers them all; the others do one thing at a time.
BATCHES: Mapping[str, int] = {"relay": 10}

#: queue -> function that its messages wake.
WOKEN: Mapping[str, str] = {
    "wake": "relay",
    "inspect": "inspect",
    "plan": "plan",
    "stitch": "stitch",
    "notify": "notify",
}
