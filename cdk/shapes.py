"""Patterns for the names in settings, with messages for names that do not match: those that AWS would refuse half an
hour into a deployment, or that would allow more than was meant."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator


def _shape(pattern: str, words: str) -> AfterValidator:
    def check(value: str) -> str:
        if not re.fullmatch(pattern, value, re.ASCII):
            raise ValueError(f"must be {words}, not {value!r}.")
        return value

    return AfterValidator(check)


_DOMAIN = r"[a-z0-9-]+(\.[a-z0-9-]+)+"
_EMAIL = r"[^@\s]+@[^@\s]+\.[^@\s]+"

Environment = Annotated[
    str, _shape(r"[a-z][a-z0-9]{1,11}", "two to twelve small letters and digits, with a letter first")
]
Region = Annotated[str, _shape(r"[a-z]{2}(-[a-z]+)+-\d", "a region of AWS, as eu-central-1")]
Domain = Annotated[str, _shape(_DOMAIN, "a name in small letters, as wsi.example.org")]
Certificate = Annotated[
    str,
    _shape(
        r"arn:aws[a-z-]*:acm:us-east-1:\d{12}:certificate/\S+",
        "the ARN of a certificate in us-east-1, from where CloudFront takes it",
    ),
]
#: As browsers send it. Plain http is for the development of the page.
Origin = Annotated[
    str,
    _shape(
        rf"https://{_DOMAIN}(:\d+)?|http://localhost(:\d+)?",
        "exact, as https://wsi.example.org without a slash at the end",
    ),
]
Email = Annotated[str, _shape(_EMAIL, "an address, as ops@example.org")]
Sender = Annotated[str, _shape(rf"{_DOMAIN}|{_EMAIL}", "a domain or an address, as mail.example.org")]
#: They become resources of IAM's policies, where a * would be every bucket.
Bucket = Annotated[str, _shape(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", "names of buckets alone, as lab-slides")]
Key = Annotated[str, _shape(r"arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:key/[\w-]+", "ARNs of KMS keys, of no alias")]
ReplicatedBackup = Annotated[
    str,
    _shape(
        r"arn:aws[a-z-]*:rds:[a-z0-9-]+:\d{12}:auto-backup:ab-\w+",
        "the ARN of a replicated backup, as aws rds describe-db-instance-automated-backups lists it",
    ),
]
#: The families that the image of the nodes has drivers for.
GpuInstanceType = Annotated[
    str, _shape(r"(g4dn|g5|g6e?)\.(\d*xlarge|metal)", "of the families g4dn, g5, g6 and g6e, as g6.2xlarge")
]
Role = Annotated[str, _shape(r"arn:aws[a-z-]*:iam::\d{12}:role/[\w+=,.@/-]+", "the ARN of a role of IAM")]
#: Cognito's own rule, without what it reserves, and without the underscore that follows it in people's names.
ProviderName = Annotated[
    str,
    _shape(
        r"(?!(?i:cognito|facebook|google|loginwithamazon|signinwithapple)$)[A-Za-z][A-Za-z0-9-]{2,31}",
        "three to 32 letters, digits and hyphens, with a letter first, and no name that Cognito keeps for itself",
    ),
]
HttpsUrl = Annotated[str, _shape(r"https://[^\s/]+(/\S*)?", "an address with https")]
Secret = Annotated[
    str,
    _shape(r"arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:\d{12}:secret:\S+", "the ARN of a secret in Secrets Manager"),
]
#: A name with one of the characters that separate groups could be several.
GroupName = Annotated[
    str, _shape(r"[^\[\],\s]([^\[\],]{0,254}[^\[\],\s])?", "names of groups without commas and square brackets")
]
UnusualCosts = Annotated[
    str,
    _shape(
        r"tag|nobody|arn:aws[a-z-]*:ce::\d{12}:anomalymonitor/\S+",
        "tag, nobody or the ARN of a monitor of unusual costs",
    ),
]
Cron = Annotated[str, _shape(r"\S+( \S+){4}", "a cron expression of five fields, as 0 7 * * 1-5")]
PinnedImage = Annotated[
    str,
    _shape(r"\S+/[^\s@]+@sha256:[0-9a-f]{64}", "an image with its digest, as registry.example.org/python:3@sha256:…"),
]
WorkerImage = Annotated[
    str,
    _shape(r"docker|codebuild|\S+/\S+", "docker, codebuild or the URI of an image, as registry.example.org/worker:1"),
]
