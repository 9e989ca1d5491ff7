"""Makes epithelium.npz by the code of lavlab-shell 0.9.1 (MIT) alone, in a venv of its own under Python 3.11:

    pip install --no-deps lavlab-shell==0.9.1
    pip install macenko-pca==1.0.4 monai==1.6.1 scipy==1.17.1 scikit-image==0.26.0 torch onnxruntime==1.32.0 pillow
    python make_epithelium.py region.png epithelium.npz

region.png holds 128 x 128 px of level 0 of the CC0 slide CMU-1-Small-Region.svs, from x 1330, y 1680 on.
"""

from __future__ import annotations

import sys

import numpy as np
import torch
from PIL import Image
from shell.inference import run_inference
from shell.model import build_model
from shell.transforms import apply_eho_chunked, detect_background, estimate_stain_params

pixels = np.asarray(Image.open(sys.argv[1]).convert("RGB"))
background = detect_background(pixels)
found = estimate_stain_params(pixels, bg_mask=background)
by_stain = np.linalg.pinv(found["w_est"])
planes = apply_eho_chunked(pixels, **found)
# Mirrored, so that there are no edges; 1,024 px are the patch that the network's own code cuts.
tile = np.pad(planes, ((0, 896), (0, 896), (0, 0)), mode="symmetric")
torch.set_num_threads(1)
inner, outer = run_inference(tile, build_model(), roi_size=(1024, 1024), return_raw=True)
np.savez_compressed(
    sys.argv[2],
    pixels=pixels,
    tissue=~background,
    glass=found["Io"],
    eosin=by_stain[found["e_idx"]],
    haematoxylin=by_stain[found["h_idx"]],
    ranges=[[found[f"{name}_lo"], found[f"{name}_hi"]] for name in ("e", "h", "od")],
    planes=planes,
    fractions=[outer.mean(), (inner & ~outer).mean()],
)
