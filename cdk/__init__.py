"""The AWS deployment. `appsync/` holds the schema and resolvers that the embedded stack runs too."""
