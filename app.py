"""The CDK app: `cdk synth`, `cdk deploy --all`. What is deployed is said by the context: see docs/deploy.md."""

from __future__ import annotations

import aws_cdk as cdk

from cdk.deployment import Deployment
from cdk.installation import Installation

app = cdk.App()
names = ("preset", *Deployment.model_fields)
Installation(app, Deployment.from_context({name: app.node.try_get_context(name) for name in names}))
app.synth()
