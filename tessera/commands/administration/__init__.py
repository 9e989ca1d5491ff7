"""`tessera admin tenants|people|keys|models|quotas`: commands over the API's routes of admins and operators."""
