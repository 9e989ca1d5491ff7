"""Models of the installation, for operators. Admins add versions by /models."""

from __future__ import annotations

from http import HTTPStatus

from aws_lambda_powertools.event_handler.router import APIGatewayRouter

from lambdas.http.requests import Administering, Caller
from lambdas.routes.administration.operating import carry_out
from lambdas.schemas.administration import RegisterBuiltin, RegisterModel
from lambdas.schemas.administrators import RegisteredModelAnswer

router = APIGatewayRouter()


@router.post(
    "/admin/models",
    tags=["administration"],
    summary="Register a package that is in the models bucket",
    status_code=HTTPStatus.CREATED,
)
def add(body: RegisterModel, caller: Caller, ports: Administering) -> RegisteredModelAnswer:
    return RegisteredModelAnswer(**carry_out(caller, "register_model", body, ports))


@router.post(
    "/admin/models/builtin",
    tags=["administration"],
    summary="Register a built-in model",
    status_code=HTTPStatus.CREATED,
)
def add_builtin(body: RegisterBuiltin, caller: Caller, ports: Administering) -> RegisteredModelAnswer:
    return RegisteredModelAnswer(**carry_out(caller, "register_builtin", body, ports))
