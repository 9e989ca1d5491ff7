#!/usr/bin/env bash
# Vectors and nuclei on one GPU, about 8 minutes on an H200: bash benchmarks/outputs_on_gpu.sh SLIDE
# SLIDE is a small slide of square JPEG tiles, such as CMU-1-Small-Region.svs. Run it from the repository's root, with
# the wheels of benchmarks/device.txt. Each part has a time limit of its own, so that one that hangs costs no other.
set -uo pipefail
slide=$1
export PYTHONUNBUFFERED=1

python3 -m pytest -q -p no:cacheprovider -n 0 -m gpu tests/inference/models/dense 2>&1 | tail -3
timeout 290 python3 -m benchmarks.objects_on_gpu "$slide" --windows 1024 2048 1536 --other-side 20000 --alone-seconds 1.5
timeout 230 python3 -m benchmarks.embeddings_on_gpu "$slide" --alone-seconds 4
