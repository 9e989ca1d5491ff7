from botocore.awsrequest import AWSPreparedRequest, AWSResponse

class URLLib3Session:
    def __init__(
        self,
        *,
        timeout: float = ...,
        max_pool_connections: int = ...,
        socket_options: list[tuple[int, int, int]] = ...,
    ) -> None: ...
    def send(self, request: AWSPreparedRequest) -> AWSResponse: ...
    def close(self) -> None: ...
