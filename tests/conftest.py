pytest_plugins = ["tests.postgres", "tests.ministack"]
