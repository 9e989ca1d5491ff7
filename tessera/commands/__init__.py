"""One command a file: read the options, call one thing, print what came of it, choose the exit code."""
