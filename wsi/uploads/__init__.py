"""Uploads in presigned parts."""
