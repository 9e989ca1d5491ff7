"""The app's templates, made fit for MiniStack on this machine: see docs/emulated.md."""

from cdk.emulated.transformation import NotEmulated, Row, Template, dangling, emulated, told

__all__ = ["NotEmulated", "Row", "Template", "dangling", "emulated", "told"]
