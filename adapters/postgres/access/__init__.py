"""What tenants may reach outside the database."""
