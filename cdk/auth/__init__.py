"""Authentication: people in Cognito, keys in our table, one authorizer for both APIs."""
