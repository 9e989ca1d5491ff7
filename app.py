"""The CDK app: `cdk synth`, `cdk deploy --all`. The context states what is deployed: see docs/how-to/deploy.md."""

from __future__ import annotations

import sys

from cdk.prerequisites import MissingPrerequisite, check_prerequisites


def synthesize() -> None:
    check_prerequisites()
    # Not before: jsii starts Node when it is imported.
    import aws_cdk as cdk

    from cdk.deployment import Deployment, WrongDeployment
    from cdk.installation import Installation
    from cdk.scale_report import make_report
    from cdk.web.page_files import describe_missing_page

    app = cdk.App()
    try:
        deployment = Deployment.from_context(app.node.get_all_context())
    except WrongDeployment as wrong:
        sys.exit(str(wrong))
    sys.stderr.write(f"{make_report(deployment)}\n")
    if (warning := describe_missing_page()) is not None:
        sys.stderr.write(f"{warning}\n")
    Installation(app, deployment)
    app.synth()


if __name__ == "__main__":
    try:
        synthesize()
    except MissingPrerequisite as missing:
        sys.exit(str(missing))
