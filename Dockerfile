# The service with its checkpoints; the other commands run in it too:
#     docker build -t parse-reranker .
#     docker run --rm --read-only -p 127.0.0.1:8000:8000 -e RERANK_API_KEYS=secret parse-reranker
#     docker run --rm -i parse-reranker --nbest - --models 'ckpt/*.pt' < parses.txt

# Python 3.11.16 on Debian 13. Newer: docker buildx imagetools inspect python:3.11-slim
ARG PYTHON=python:3.11-slim@sha256:9c900dea9e8fb7e16277c179b555cc72d29a352dbc33cff48ad5a0412fd5bfc7
FROM ${PYTHON} AS build

# Which file of docker/requirements/: the build of torch for CPUs keeps the image small; for GPUs, on
# x86_64: --build-arg TORCH=cuda. Nothing is installed that is not named there with its hash.
ARG TORCH=cpu
# For `rerank cluster` and Ray Serve: --build-arg PACKAGES=ray
ARG PACKAGES=rerank

# That of the program; git, which knows it, is not here (make image).
ARG VERSION=0.1.0

RUN python -m venv /opt/build && python -m venv /opt/rerank
WORKDIR /source
COPY docker/requirements requirements
RUN /opt/build/bin/pip install --no-cache-dir --require-hashes --no-deps --only-binary :all: \
        -r requirements/build.txt \
    && /opt/rerank/bin/pip install --no-cache-dir --require-hashes --no-deps --only-binary :all: \
        --extra-index-url https://download.pytorch.org/whl/cpu \
        -r requirements/torch-${TORCH}.txt -r requirements/${PACKAGES}.txt
COPY pyproject.toml README.md LICENSE ./
COPY packages/links.py packages/links.py
COPY models models
COPY reranker reranker
COPY service service
RUN SETUPTOOLS_SCM_PRETEND_VERSION=${VERSION} /opt/build/bin/hatchling build -t wheel -d /wheels \
    && /opt/rerank/bin/pip install --no-cache-dir --no-index --no-deps /wheels/*.whl \
    && /opt/rerank/bin/pip check

FROM ${PYTHON}

RUN groupadd --gid 10001 reranker \
    && useradd --no-create-home --shell /usr/sbin/nologin --uid 10001 --gid 10001 reranker
COPY --from=build /opt/rerank /opt/rerank
WORKDIR /app
COPY ckpt ckpt
ENV PATH=/opt/rerank/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    RERANK_HOST=0.0.0.0 \
    RERANK_PORT=8000 \
    RERANK_LOG_FORMAT=json
USER 10001:10001
EXPOSE 8000
# 0.0.0.0, as an address to connect to, is this machine too. A port given as a flag is not seen here.
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s CMD ["python", "-c", \
    "import os, http.client as http; \
    service = http.HTTPConnection(os.environ['RERANK_HOST'], os.environ['RERANK_PORT'], timeout=2); \
    service.request('GET', '/health/ready'); \
    raise SystemExit(service.getresponse().status != 200)"]
ENTRYPOINT ["rerank"]
CMD ["serve"]
