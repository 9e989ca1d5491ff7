"""The app's templates, made fit for MiniStack on this machine: see docs/how-to/emulated.md."""

from cdk.emulated.transformation import (
    NotEmulated,
    Row,
    Template,
    list_dangling,
    read_dropped_property,
    transform_template,
)

__all__ = ["NotEmulated", "Row", "Template", "list_dangling", "read_dropped_property", "transform_template"]
