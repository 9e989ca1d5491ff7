"""S3: objects, slides (multipart uploads), and range reads."""
