# The service with its checkpoints; the other commands run in it too:
#     docker build -t parse-reranker .
#     docker run --rm --read-only -p 8000:8000 parse-reranker
#     docker run --rm -i parse-reranker --nbest - --models 'ckpt/*.pt' < parses.txt
FROM python:3.11-slim AS build

# CPU-only builds of torch keep the image small. For a GPU: --build-arg TORCH_INDEX= (the standard
# build, with CUDA) or the index of another CUDA version.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu

RUN python -m venv /opt/rerank
WORKDIR /source
COPY constraints.txt ./
RUN /opt/rerank/bin/pip install --no-cache-dir ${TORCH_INDEX:+--extra-index-url "$TORCH_INDEX"} \
        -c constraints.txt torch==2.13.0
COPY pyproject.toml README.md LICENSE ./
COPY models models
COPY reranker reranker
COPY service service
RUN /opt/rerank/bin/pip install --no-cache-dir -c constraints.txt '.[traces]'

FROM python:3.11-slim

RUN useradd --system --no-create-home --uid 10001 reranker
COPY --from=build /opt/rerank /opt/rerank
WORKDIR /app
COPY ckpt ckpt
ENV PATH=/opt/rerank/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    RERANK_HOST=0.0.0.0 \
    RERANK_LOG_FORMAT=json
USER 10001
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s CMD ["python", "-c", \
    "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/health/ready', timeout=2)"]
ENTRYPOINT ["rerank"]
CMD ["serve"]
