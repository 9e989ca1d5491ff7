"""Networks on CPUs and CUDA devices."""
