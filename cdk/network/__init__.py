"""Where everything runs: the VPC and its ways out."""
