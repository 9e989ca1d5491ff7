"""The only code that imports boto3, obstore or psycopg. Each module carries out one port of `wsi.ports`."""
