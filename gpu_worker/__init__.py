"""The worker: lease, fetch, decode, batch, forward, write, commit."""

import os

# Since 1.29 ONNX Runtime sends models' names and hashes and a number for the machine to Microsoft, beginning when it is
# imported: https://github.com/microsoft/onnxruntime/blob/main/docs/Privacy.md
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
