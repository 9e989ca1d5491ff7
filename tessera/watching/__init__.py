"""`tessera watch`: slides are analysed as they arrive in a folder or below an S3 prefix."""
