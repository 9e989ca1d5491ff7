"""The worker's image, built and run on a machine without docker and without a registry of images."""
