"""The parts behind `import tessera`: runs, slides and the client of an installation, for notebooks and scripts."""
