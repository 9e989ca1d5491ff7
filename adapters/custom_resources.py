"""Requests of CloudFormation about a custom resource, each with the URL that its answer goes to."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field

SECONDS = 10.0  #: to connect, and between two bytes of the reply


class NotAnswered(Exception):
    """CloudFormation did not take an answer, and still waits for one."""


class ResourceRequest(BaseModel):
    """A request to create, update or delete the resource. It waits for one answer, for as long as its ServiceTimeout
    says."""

    model_config = ConfigDict(frozen=True, populate_by_name=True)

    type: str = Field(alias="RequestType")  #: Create, Update or Delete.
    response_url: str = Field(alias="ResponseURL")  #: Presigned: its holder can answer, for two hours.
    request_id: str = Field(alias="RequestId")
    stack_id: str = Field(alias="StackId")
    logical_id: str = Field(alias="LogicalResourceId")
    #: The same for the resource's whole life: with another one, CloudFormation would have the old resource deleted.
    physical_id: str = Field(alias="PhysicalResourceId", default_factory=lambda given: given["logical_id"])
    properties: Mapping[str, Any] = Field(alias="ResourceProperties")

    def accept(self, data: Mapping[str, str] | None = None) -> None:
        """Answer that the request succeeded; `data` are the resource's attributes. Raises NotAnswered."""
        self._send({"Status": "SUCCESS", "Data": dict(data or {})})

    def refuse(self, reason: str) -> None:
        """Answer that the request failed; the deployment fails with `reason`. Raises NotAnswered."""
        self._send({"Status": "FAILED", "Reason": reason})

    def _send(self, answer: Mapping[str, Any]) -> None:
        body = json.dumps(
            {
                **answer,
                "RequestId": self.request_id,
                "StackId": self.stack_id,
                "LogicalResourceId": self.logical_id,
                "PhysicalResourceId": self.physical_id,
            }
        )
        url = urlsplit(self.response_url)
        connect = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
        connection = connect(url.netloc, timeout=SECONDS)
        try:
            # The URL is signed for an empty type of content.
            connection.request("PUT", f"{url.path}?{url.query}", body.encode(), {"Content-Type": ""})
            status = connection.getresponse().status
        except (OSError, http.client.HTTPException) as error:
            raise NotAnswered(f"CloudFormation could not be reached for {self.logical_id}.") from error
        finally:
            connection.close()
        if status != http.client.OK:
            raise NotAnswered(f"CloudFormation replied {status} to the answer for {self.logical_id}.")
