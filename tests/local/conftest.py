from tests.local.appsync_server import appsync, leaky_appsync  # noqa: F401
