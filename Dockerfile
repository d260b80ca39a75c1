# All programs of Counterfoil in one image; each service runs as a user of its own (docker-compose.yml).
FROM rust:1.95-slim-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev libssl-dev pkg-config && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN cargo build --release --locked -p counterfoil -p counterfoil-evidence -p counterfoil-gateway

FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates libssl3 && rm -rf /var/lib/apt/lists/*
# Two users, so that neither service can read the other's keys.
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin counterfoil-evidence \
    && useradd --uid 10002 --no-create-home --shell /usr/sbin/nologin counterfoil-gateway
COPY --from=build /source/target/release/counterfoil /usr/local/bin/counterfoil
COPY --from=build /source/target/release/counterfoil-evidence /usr/local/bin/counterfoil-evidence
COPY --from=build /source/target/release/counterfoil-gateway /usr/local/bin/counterfoil-gateway
USER 10001:10001
CMD ["counterfoil", "--help"]
