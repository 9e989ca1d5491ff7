"""Actions of the database's owner: migrations, rights, the first tenants."""
