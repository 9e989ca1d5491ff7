"""The image of the workers: built by docker, or one that is in a registry already."""
