"""`POST /jobs`: starts jobs and answers dry runs.

A function of its own, since a dry run counts tiles with numpy, as a plan does: with numpy the bundle of the API's
function would be twice as large. The gateway cannot tell a dry run from a job by its path.
"""

from __future__ import annotations

from adapters.postgres.connections import Connections
from adapters.settings.processes import SubmitSettings
from lambdas.cold_start import Handler, make_entry
from lambdas.http.resolver import make_resolver, make_resolver_handler
from lambdas.routes import submission
from lambdas.wiring import SubmitWiring, make_aws_clients


def make_handler(wiring: SubmitWiring) -> Handler:
    return make_resolver_handler(make_resolver(submission.router), wiring)


def wire(settings: SubmitSettings) -> Handler:
    return make_handler(SubmitWiring.of(settings, make_aws_clients(settings), Connections.of(settings)))


handler = make_entry(SubmitSettings, wire)
