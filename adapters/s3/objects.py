"""`wsi.ports.objects.Objects` on one bucket of S3."""

from __future__ import annotations

from pathlib import Path

from boto3.exceptions import S3UploadFailedError

from adapters.aws_clients import AwsClients
from adapters.s3.refusals import translate_refusals
from adapters.s3.versions import delete_versions
from wsi.errors import SourceUnavailable


class S3Objects:
    """Puts are atomic by S3's own rule: a reader sees the old object, the new one or none."""

    def __init__(self, clients: AwsClients, bucket: str) -> None:
        self._clients = clients
        self._bucket = bucket

    def put(self, key: str, data: bytes, *, media_type: str = "application/octet-stream") -> None:
        with translate_refusals():
            self._clients.s3.put_object(Bucket=self._bucket, Key=key, Body=data, ContentType=media_type)

    def put_file(self, key: str, path: Path, *, media_type: str) -> None:
        """Stream the file, in parts when it is large."""
        try:
            with translate_refusals():
                self._clients.s3.upload_file(
                    Filename=str(path), Bucket=self._bucket, Key=key, ExtraArgs={"ContentType": media_type}
                )
        except S3UploadFailedError as error:
            raise SourceUnavailable("The result could not be stored; try again in a minute.") from error

    def get(self, key: str) -> bytes:
        with translate_refusals():
            return self._clients.s3.get_object(Bucket=self._bucket, Key=key)["Body"].read()

    def delete_below(self, prefix: str) -> int:
        return delete_versions(self._clients, self._bucket, prefix, lambda key: True)

    def presign_download(self, key: str, *, filename: str, seconds: int) -> str:
        disposition = f'attachment; filename="{filename}"'
        return self._clients.s3.generate_presigned_url(
            "get_object",
            Params={"Bucket": self._bucket, "Key": key, "ResponseContentDisposition": disposition},
            ExpiresIn=seconds,
        )
