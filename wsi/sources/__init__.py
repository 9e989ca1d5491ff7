"""The customers' objects that tenants may register and read."""
