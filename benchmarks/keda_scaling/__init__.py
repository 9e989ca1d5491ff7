"""KEDA's own formulas with our workers.

`python -m benchmarks.keda_scaling` prints the tables of docs/explanation/scaling.md.
"""
