# What we use of boto3: its clients are made at run time and stay Any; the ports in wsi.ports carry the types.
from typing import Any

from botocore.config import Config
from botocore.credentials import Credentials

class Session:
    def __init__(
        self,
        *,
        region_name: str | None = ...,
        aws_access_key_id: str | None = ...,
        aws_secret_access_key: str | None = ...,
        aws_session_token: str | None = ...,
    ) -> None: ...
    def client(self, service_name: str, *, endpoint_url: str | None = ..., config: Config | None = ...) -> Any: ...
    def get_credentials(self) -> Credentials | None: ...
