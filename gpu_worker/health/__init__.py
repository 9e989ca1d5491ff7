"""A worker's health: pulse, metrics, the health port, the watchdog."""
