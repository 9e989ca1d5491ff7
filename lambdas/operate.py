"""The actions of `administer` on behalf of an operator, invoked by the API.

An event names the person or key that asked the API: `{"operator": "user:…", "action": {"add_tenant": {…}}}`. Nothing
is carried out unless the database knows them as an operator now: who may invoke this function has no rights by that
alone. A refusal has a `code`, from which the API makes its own.
"""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from adapters.postgres.owner.administration import Administration
from adapters.settings.processes import OwnerSettings
from lambdas.administer import carry_out, log_action, make_administration
from lambdas.cold_start import Handler, make_entry
from lambdas.schemas.actions import describe_faults
from lambdas.schemas.administration import OperatorRequest
from wsi.errors import Invalid, TesseraError


def make_handler(owner: Administration) -> Handler:
    def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
        try:
            request = OperatorRequest.model_validate(event)
            answer = carry_out(request.action.asked, owner.on_behalf_of(request.operator))
        except ValidationError as error:
            return {"error": describe_faults(error), "code": Invalid.code}
        except TesseraError as error:
            return {"error": error.sentence, "code": error.code}
        log_action(request.action)
        return answer

    return handle


def wire(settings: OwnerSettings) -> Handler:
    return make_handler(make_administration(settings))


handler = make_entry(OwnerSettings, wire)
