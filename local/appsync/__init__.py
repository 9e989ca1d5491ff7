"""AppSync on this machine: its realtime protocol and its HTTP endpoint in front of the real schema and resolvers."""
