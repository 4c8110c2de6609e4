# docker build -t simnet . && docker run --rm --user "$(id -u):$(id -g)" -v "$PWD:/work" simnet run scenario.toml
FROM python:3.12-slim
COPY constraints.txt pyproject.toml README.md LICENSE /src/
COPY scenarios /src/scenarios
COPY simnet /src/simnet
RUN pip install --no-cache-dir --constraint /src/constraints.txt /src && rm -r /src && useradd --create-home simnet
USER simnet
WORKDIR /work
ENV OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
ENTRYPOINT ["simnet"]
CMD ["--help"]
