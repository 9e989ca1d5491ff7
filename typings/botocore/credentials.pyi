from typing import NamedTuple

class ReadOnlyCredentials(NamedTuple):
    access_key: str
    secret_key: str
    token: str | None
    account_id: str | None

class Credentials:
    def __init__(self, access_key: str, secret_key: str, token: str | None = ...) -> None: ...
    def get_frozen_credentials(self) -> ReadOnlyCredentials: ...
