# The command-line tool with its checkpoints:
#     docker build -t parse-reranker .
#     docker run --rm -i parse-reranker --nbest - --models 'ckpt/*.pt' < parses.txt
FROM python:3.11-slim

# An index with CPU-only builds of torch keeps the image small; give it with --build-arg.
ARG PIP_EXTRA_INDEX_URL

WORKDIR /app
COPY constraints.txt pyproject.toml README.md LICENSE ./
COPY models models
COPY reranker reranker
COPY service service
RUN pip install --no-cache-dir -c constraints.txt torch==2.13.0 .
COPY ckpt ckpt

RUN useradd --create-home reranker
USER reranker
ENTRYPOINT ["rerank"]
CMD ["--help"]
