"""All that must survive: buckets, queues, the database and its migrations."""
