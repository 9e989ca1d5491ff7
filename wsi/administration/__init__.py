"""Administration: the people, invitations and API keys of a tenant, for its admins and for operators."""
