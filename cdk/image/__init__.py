"""The image of the workers: built by docker or by CodeBuild, or one that is in a registry already."""
