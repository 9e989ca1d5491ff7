"""Model packages on this machine: made, checked, compared."""
