"""HTTP in front of the functions, as API Gateway and CloudFront have it."""
