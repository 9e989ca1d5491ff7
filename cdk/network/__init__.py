"""The network: the VPC and its ways out."""
