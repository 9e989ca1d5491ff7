"""The CDK app: `cdk synth`, `cdk deploy --all`. The context states what is deployed: see docs/how-to/deploy.md."""

from __future__ import annotations

import sys

import aws_cdk as cdk

from cdk.deployment import Deployment, WrongDeployment
from cdk.installation import Installation
from cdk.scale_report import make_report

app = cdk.App()
try:
    deployment = Deployment.from_context(app.node.get_all_context())
except WrongDeployment as wrong:
    sys.exit(str(wrong))
sys.stderr.write(f"{make_report(deployment)}\n")
Installation(app, deployment)
app.synth()
