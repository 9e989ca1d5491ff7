"""Backups of the database in a second region, and an instance that is made from one."""

from __future__ import annotations

from aws_cdk import aws_kms as kms
from aws_cdk import aws_rds as rds

from cdk.deployment import Deployment

#: What a restore takes from the backup: RDS refuses to be told otherwise.
_OF_THE_BACKUP = ("DBName", "MasterUsername", "StorageEncrypted", "AllocatedStorage")


def replicate_backups(instance: rds.DatabaseInstance, deployment: Deployment, key: kms.IKey) -> None:
    """Copy snapshots and logs of transactions into the second region, minutes after they were written. `key` is of that
    region, in which RDS encrypts them again."""
    resource = _get_resource(instance)
    resource.automatic_backup_replication_region = deployment.recovery_region
    resource.automatic_backup_replication_kms_key_id = key.key_arn
    resource.automatic_backup_replication_retention_period = deployment.backup_days


def restore_from(instance: rds.DatabaseInstance, backup: str) -> None:
    """Make the instance from the latest moment of a replicated backup. The setting must stay while the instance lives:
    CloudFormation replaces an instance whose source changes."""
    resource = _get_resource(instance)
    resource.source_db_instance_automated_backups_arn = backup
    resource.use_latest_restorable_time = True
    for name in _OF_THE_BACKUP:
        resource.add_property_deletion_override(name)


def _get_resource(instance: rds.DatabaseInstance) -> rds.CfnDBInstance:
    resource = instance.node.default_child
    assert isinstance(resource, rds.CfnDBInstance)
    return resource
