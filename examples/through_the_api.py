"""Send a slide to an installation, run a model there, follow the job and fetch its results.

export TESSERA_API_KEY=…     # `python -m local key` prints that of the stack which `make up` left running
python examples/through_the_api.py http://127.0.0.1:8000 slide.svs results
"""

from __future__ import annotations

import argparse
import os

import tessera

parser = argparse.ArgumentParser(description="Run a model over a slide on an installation.")
parser.add_argument("url", help="the installation")
parser.add_argument("slide", help="a file, or a folder of one DICOM series")
parser.add_argument("out", help="where results go")
parser.add_argument("--model", default="stain-density", help="a registered model")
arguments = parser.parse_args()

with tessera.Client(arguments.url, os.environ["TESSERA_API_KEY"]) as client:
    slide = client.upload(arguments.slide)
    print(f"slide {slide.slide_id} is {slide.status}")

    job = client.submit(slide, arguments.model)
    for update in client.watch(job):  # client.watch(job).wait() draws a bar instead
        print(f"job {update.job_id} is {update.status}: {update.progress:.0%}")

    result = client.results(job, into=arguments.out)

print(result)
print(f"mean {result.columns[0]}: {result.tiles[result.columns[0]].mean():.3f}")
