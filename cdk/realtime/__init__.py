"""Push: AppSync, fed by the relay."""
