"""The layouts that are read natively, one a file. `registry` lists them in the order in which they are tried."""
