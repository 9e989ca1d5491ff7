"""The only code that imports boto3, obstore or psycopg. Each module implements one port of `wsi.ports`."""
