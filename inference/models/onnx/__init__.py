"""ONNX networks: the graph is read before it is run."""
