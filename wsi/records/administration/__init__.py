"""People, invitations and keys, as those who administer them see them."""
