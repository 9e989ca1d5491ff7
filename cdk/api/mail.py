"""Mails of a job's end: an identity that SES may send as, over TLS only, and a topic for bounces."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_ses as ses
from aws_cdk import aws_sns as sns
from constructs import Construct

from cdk.deployment import Deployment

LOCAL_PART = "tessera"  #: of the sender's address, when the deployment names a domain


class MailSender(Construct):
    """`sender`, `configuration_set_name`. Operators subscribe to the topic that reports undelivered mail."""

    def __init__(self, scope: Construct, id: str, *, deployment: Deployment) -> None:
        super().__init__(scope, id)
        name = deployment.mail_from
        assert name is not None, "made only when mails are sent"
        is_address = "@" in name
        self.sender = name if is_address else f"{LOCAL_PART}@{name}"
        key = kms.Key(
            self,
            "BouncesKey",
            description="Bounced mails of Tessera",
            enable_key_rotation=True,
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )
        key.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[iam.ServicePrincipal("ses.amazonaws.com")],
                actions=["kms:GenerateDataKey", "kms:Decrypt"],
                resources=["*"],  # in a key's policy: this key
            )
        )
        bounces = sns.Topic(self, "Bounces", master_key=key, enforce_ssl=True)
        configuration = ses.ConfigurationSet(
            self,
            "Configuration",
            tls_policy=ses.ConfigurationSetTlsPolicy.REQUIRE,
            suppression_reasons=ses.SuppressionReasons.BOUNCES_AND_COMPLAINTS,
        )
        configuration.add_event_destination(
            "ToBounces",
            destination=ses.EventDestination.sns_topic(bounces),
            events=[ses.EmailSendingEvent.BOUNCE, ses.EmailSendingEvent.COMPLAINT, ses.EmailSendingEvent.REJECT],
        )
        self.configuration_set_name = configuration.configuration_set_name
        self._configuration_arn = cdk.Stack.of(self).format_arn(
            service="ses", resource="configuration-set", resource_name=self.configuration_set_name
        )
        self._identity = ses.EmailIdentity(
            self, "Sender", identity=ses.Identity.email(name) if is_address else ses.Identity.domain(name)
        )

    def grant_send(self, grantee: iam.IGrantable) -> None:
        """Grant sending as this sender alone, whatever else the account may send as."""
        grantee.grant_principal.add_to_principal_policy(
            iam.PolicyStatement(
                actions=["ses:SendEmail"],
                resources=[self._identity.email_identity_arn, self._configuration_arn],
                conditions={"StringEquals": {"ses:FromAddress": self.sender}},
            )
        )
