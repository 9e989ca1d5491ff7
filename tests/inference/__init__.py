import inference as inference  # before a test imports onnxruntime itself: it turns its telemetry off
