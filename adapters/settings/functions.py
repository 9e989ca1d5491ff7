"""Constants that the functions share with the code that deploys or imitates them."""

from __future__ import annotations

from collections.abc import Mapping

from adapters.settings.queues import WOKEN

#: s, by function: how long an invocation may take.
TIMEOUTS: Mapping[str, int] = {
    "api": 29,  # API Gateway hangs up then
    "submit": 29,
    "tiles": 20,  # three attempts of a read, and the slide's index before
    "authorizer": 10,
    "tokens.sign_on": 5,  # Cognito gives up then
    "sweep": 60,
    "webhook_send": 15,
    "migrate": 600,
    "administer": 60,
    "operate": 20,  # below the API's own, which waits for it
    "build_image": 60,  # of each of its two calls; the build runs between them
    "recover": 60,
    **{function.name: function.timeout_seconds for function in WOKEN.values()},
}
