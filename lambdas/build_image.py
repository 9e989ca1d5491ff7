"""The function behind the custom resource that is the worker's image in ECR. CloudFormation asks for an image by its
tag; EventBridge reports the end of each build, and then CloudFormation gets its answer.

Whether the image is there decides, not how a build ended. So an image that exists is not built again, neither for a
rollback nor when CloudFormation or EventBridge call twice.
"""

from __future__ import annotations

from typing import Any

from adapters.aws_clients import AwsClients
from adapters.custom_resources import ResourceRequest
from adapters.image_builds import ImageBuilds, ImageCallRefused
from adapters.settings.processes import ImageBuildSettings
from lambdas.cold_start import Handler, make_entry
from lambdas.logs import make_logger

logger = make_logger("build_image")

TAG = "Tag"  #: property of the resource
DIGEST = "Digest"  #: attribute of the resource


def make_handler(builds: ImageBuilds) -> Handler:
    def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
        if "RequestType" in event:
            _begin_request(builds, ResourceRequest.model_validate(event))
        else:
            _end_build(builds, event["detail"]["build-id"])
        return {}

    return handle


def _begin_request(builds: ImageBuilds, request: ResourceRequest) -> None:
    """Answer the request if nothing has to be built; else start the build whose end answers it."""
    if request.type == "Delete":  # images go with their repository
        request.accept()
        return
    try:
        digest = builds.find_digest(request.properties[TAG])
        if digest is None:
            build = builds.start_build(request.model_dump_json(by_alias=True), token=request.request_id)
            logger.info("started", extra={"build": build})
            return
    except ImageCallRefused as refused:  # nothing would answer CloudFormation, which would wait for an hour
        logger.exception("no build was started")
        request.refuse(f"No build of the worker's image was started. {refused.sentence}")
        return
    request.accept({DIGEST: digest})


def _end_build(builds: ImageBuilds, arn: str) -> None:
    """Answer the request that waits for this build."""
    build = builds.read_build(arn)
    logger.info("ended", extra={"build": build.id, "outcome": build.outcome})
    if build.request is None:
        return
    request = ResourceRequest.model_validate_json(build.request)
    digest = builds.find_digest(request.properties[TAG])
    if digest is not None:
        request.accept({DIGEST: digest})
    else:
        request.refuse(
            f"CodeBuild did not build the worker's image. Build {build.id} ended as {build.outcome}."
            f" Its log: {build.log}"
        )


def wire(settings: ImageBuildSettings) -> Handler:
    clients = AwsClients(settings.region, settings.endpoint_url)
    return make_handler(ImageBuilds(clients, project=settings.build_project, repository=settings.image_repository))


handler = make_entry(ImageBuildSettings, wire)
