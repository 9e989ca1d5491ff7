"""Models: what a package says (wsinfer), how it runs (stain_density, torchscript), and which kind is which."""
