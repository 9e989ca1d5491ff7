"""What survives the loss of a region, in another one."""
