"""No test reaches beyond this machine: the suite runs in a network namespace that holds the loopback alone, and a
process of Python that tries to leave it fails its test by name.

    python -m tests.offline COMMAND…    runs a command in such a namespace; the Makefile runs the page's tests so
"""
