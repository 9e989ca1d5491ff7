from collections.abc import Mapping
from typing import Any

class AWSPreparedRequest:
    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes

class AWSRequest:
    url: str
    headers: Mapping[str, str]
    context: dict[str, Any]
    def __init__(self, method: str, url: str, headers: Mapping[str, str] | None = ..., data: bytes = ...) -> None: ...
    def prepare(self) -> AWSPreparedRequest: ...

class AWSResponse:
    status_code: int
    content: bytes
    text: str
