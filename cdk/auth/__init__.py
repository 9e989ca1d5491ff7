"""Who is calling: people in Cognito, keys in our table, one authorizer for both doors."""
