"""The whole platform as a discrete-event simulation, from slides that labs upload to results.

`python -m benchmarks.fleet` prints the tables of docs/explanation/fleet.md; `python -m benchmarks.fleet.check` compares
the simulation with the embedded stack.
"""
