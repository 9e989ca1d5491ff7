"""Rights of tenants to what lies outside the database."""
