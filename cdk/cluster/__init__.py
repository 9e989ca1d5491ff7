"""The EKS cluster and its node groups."""
