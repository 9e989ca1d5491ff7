"""The REST API, its firewall, and the functions behind it and behind the queues."""
