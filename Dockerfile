# enginetour on Debian slim; docs/start/install.md shows how to build and run it.
FROM python:3.13-slim-bookworm AS build
RUN apt-get update \
 && apt-get install -y --no-install-recommends gcc libc6-dev \
 && rm -rf /var/lib/apt/lists/*
COPY . /source
RUN python -m venv /opt/enginetour && /opt/enginetour/bin/pip install --no-cache-dir '/source[charts,web,zst]'

FROM python:3.13-slim-bookworm
ARG ENGINES=""
RUN apt-get update \
 && apt-get install -y --no-install-recommends bubblewrap ${ENGINES} \
 && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/enginetour /opt/enginetour
ENV PATH=/opt/enginetour/bin:/usr/games:$PATH
WORKDIR /work
EXPOSE 8390
ENTRYPOINT ["enginetour"]
CMD ["--help"]
