"""The networks that need no package: code of ours, with weights from a package index or beside the code."""
