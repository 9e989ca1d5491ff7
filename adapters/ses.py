"""`wsi.ports.notices.Mail` on SES."""

from __future__ import annotations

from botocore.exceptions import BotoCoreError, ClientError

from adapters.aws_clients import AwsClients
from wsi.errors import Invalid, SourceUnavailable

#: Another attempt would fail with these again.
_FINAL = {"MessageRejected", "BadRequestException", "MailFromDomainNotVerifiedException"}


class SesMail:
    """Mail from one sender. `sender`: an address of a verified identity; `configuration_set` demands TLS and hears of
    bounces."""

    def __init__(self, clients: AwsClients, sender: str, configuration_set: str | None) -> None:
        self._clients = clients
        self._sender = sender
        self._configuration_set = configuration_set

    def send(self, *, to: str, subject: str, text: str) -> None:
        configuration = {"ConfigurationSetName": self._configuration_set} if self._configuration_set else {}
        content = {"Simple": {"Subject": {"Data": subject}, "Body": {"Text": {"Data": text}}}}
        try:
            self._clients.get_client("sesv2").send_email(
                FromEmailAddress=self._sender, Destination={"ToAddresses": [to]}, Content=content, **configuration
            )
        except ClientError as error:
            code = str(error.response["Error"]["Code"])
            if code in _FINAL:
                raise Invalid(f"The mail service refused the message ({code}).") from error
            raise SourceUnavailable(f"The mail service did not take the message ({code}); it is sent again.") from error
        except BotoCoreError as error:
            raise SourceUnavailable("The mail service did not answer; the message is sent again.") from error
