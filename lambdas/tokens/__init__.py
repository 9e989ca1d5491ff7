"""Functions that Cognito calls while it issues tokens."""
