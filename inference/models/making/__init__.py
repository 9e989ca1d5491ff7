"""`tessera models make`: packages of weights as people publish them."""
