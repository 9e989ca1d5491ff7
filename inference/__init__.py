"""Runs models over slides on this machine: the engine and its stages, decoding, models, devices. It knows no queue, no
database and no AWS."""

import os

# Once imported, ONNX Runtime from 1.29 on sends models' names and hashes and a number for the machine to Microsoft:
# https://github.com/microsoft/onnxruntime/blob/main/docs/Privacy.md
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
