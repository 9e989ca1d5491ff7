"""Dashboards, alarms, budget, metrics."""
