# What AWS runs for queue `stitch`. Build from the repository root:
#   docker build --platform linux/arm64 -f lambdas/stitch.Dockerfile -t tessera-stitch .
FROM public.ecr.aws/lambda/python:3.14

COPY constraints.txt requirements/lambda-stitch.txt ./
RUN pip install --no-cache-dir --disable-pip-version-check --only-binary=:all: -c constraints.txt -r lambda-stitch.txt

COPY wsi ${LAMBDA_TASK_ROOT}/wsi
COPY adapters ${LAMBDA_TASK_ROOT}/adapters
COPY lambdas ${LAMBDA_TASK_ROOT}/lambdas

CMD ["lambdas.stitch.handler"]
