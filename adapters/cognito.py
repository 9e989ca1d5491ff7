"""Sign-in with a password at a Cognito user pool: the command line and tests do this in place of the hosted page."""

from __future__ import annotations

from botocore.exceptions import ClientError

from adapters.aws_clients import AwsClients
from wsi.errors import Unauthenticated


def sign_in(clients: AwsClients, client_id: str, user: str, password: str) -> str:
    """Sign in and return the ID token (a JWT). Raises Unauthenticated."""
    try:
        answer = clients.cognito.initiate_auth(
            ClientId=client_id,
            AuthFlow="USER_PASSWORD_AUTH",
            AuthParameters={"USERNAME": user, "PASSWORD": password},
        )
    except ClientError as error:
        raise Unauthenticated("The user name or the password is wrong.") from error
    return answer["AuthenticationResult"]["IdToken"]
