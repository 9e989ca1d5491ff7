"""The people, invitations and keys of tenants, for admins and operators. Policies in SQL decide who may do what."""
