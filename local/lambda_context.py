"""The context object that Lambda gives to a handler."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass, field


@dataclass(frozen=True)
class LambdaContext:
    function_name: str
    timeout_seconds: float = 29.0  #: API Gateway's bound
    memory_limit_in_mb: int = 1024
    function_version: str = "$LATEST"
    log_group_name: str = "local"
    log_stream_name: str = "local"
    aws_request_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    started: float = field(default_factory=time.monotonic)

    @property
    def invoked_function_arn(self) -> str:
        return f"arn:aws:lambda:local:000000000000:function:{self.function_name}"

    def get_remaining_time_in_millis(self) -> int:
        return max(0, int((self.started + self.timeout_seconds - time.monotonic()) * 1000))
