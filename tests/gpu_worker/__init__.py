import gpu_worker as gpu_worker  # before a test imports onnxruntime itself: it turns its telemetry off
