from typing import Any

class BotoCoreError(Exception): ...
class HTTPClientError(BotoCoreError): ...

class ClientError(Exception):
    response: dict[str, Any]
    operation_name: str
