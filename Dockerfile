# comp in a container, on Debian 12. docs/packaging.md says how to use it.
#   docker build -t comp .                         the program with all its modules
#   docker build -t comp-python --target python .  the Python package beside it
FROM debian:12-slim AS build
COPY . /src
WORKDIR /src
RUN apt-get update && CI=true ./dev deps --yes build deb deb-check && ./dev deb

FROM debian:12-slim AS program
RUN --mount=type=bind,from=build,source=/src/build/deb,target=/deb \
    apt-get update \
    && apt-get install -y --no-install-recommends /deb/comp_*.deb /deb/libcomp-boosted_*.deb /deb/libcomp-figures_*.deb /deb/libcomp-leiden_*.deb \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /data
ENTRYPOINT ["comp"]

FROM program AS python
RUN --mount=type=bind,from=build,source=/src/build/deb,target=/deb \
    apt-get update \
    && apt-get install -y --no-install-recommends /deb/libcomp0*.deb /deb/python3-comp_*.deb python3-matplotlib python3-tqdm \
    && rm -rf /var/lib/apt/lists/*
ENTRYPOINT ["python3"]

# The last stage is what `docker build` makes when no target is named.
FROM program
