# docker build --target plain   -t kube-netfilter-tailer:0.1.0 .
# docker build --target journal -t kube-netfilter-tailer:0.1.0-journal .
#
# For a build that cannot change under you, name the bases by digest:
#   --build-arg NODE_IMAGE=docker.io/library/node:24-bookworm-slim@sha256:…
#   --build-arg DEBIAN_IMAGE=docker.io/library/debian:bookworm-slim@sha256:…
# Where npm needs a registry of your own: --secret id=npmrc,src=$HOME/.npmrc
ARG NODE_IMAGE=docker.io/library/node:24-bookworm-slim
ARG DEBIAN_IMAGE=docker.io/library/debian:bookworm-slim

# The bundle is the same for all architectures, so it is built on the builder's own.
FROM --platform=$BUILDPLATFORM ${NODE_IMAGE} AS build
WORKDIR /src
COPY package.json package-lock.json ./
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json ./
COPY scripts/build.mjs scripts/image-licences.mjs scripts/
COPY src src
# The first line names the node of the image, which has no `env`: `kubectl exec POD -- kube-netfilter-tailer …` needs it.
RUN node scripts/build.mjs \
  && node scripts/image-licences.mjs dist/THIRD-PARTY-LICENCES.txt \
  && sed -i '1s|^#!.*|#!/usr/local/bin/node|' dist/kube-netfilter-tailer.cjs

# Only files are taken from it, so nothing of another architecture has to run.
FROM ${NODE_IMAGE} AS node

FROM --platform=$BUILDPLATFORM ${DEBIAN_IMAGE} AS packages
COPY scripts/image-root.sh /usr/local/bin/image-root

# What the node binary is linked to.
FROM packages AS plain-root
ARG TARGETARCH
RUN image-root "$TARGETARCH" /target base-files libc6 libgcc-s1 libstdc++6

# What journalctl is linked to.
FROM packages AS journal-root
ARG TARGETARCH
RUN image-root "$TARGETARCH" /target systemd libsystemd-shared libacl1 libaudit1 libblkid1 libcap-ng0 libcap2 libcrypt1 \
  libgcrypt20 libgpg-error0 libip4tc2 libkmod2 liblz4-1 liblzma5 libmount1 libpam0g libpcre2-8-0 libseccomp2 libselinux1 \
  libssl3 libzstd1

# No shell, no package manager.
FROM scratch AS plain
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="kube-netfilter-tailer" \
  org.opencontainers.image.description="Tells the Pods whose packets a node's netfilter drops: reads kernel logs, writes Kubernetes Events" \
  org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.version="$VERSION" \
  org.opencontainers.image.revision="$REVISION"
COPY --from=plain-root /target/ /
COPY --from=node /usr/local/bin/node /usr/local/bin/node
COPY --from=node /usr/local/LICENSE /licenses/node/LICENSE
COPY LICENSE /licenses/kube-netfilter-tailer/LICENSE
COPY --from=build /src/dist/THIRD-PARTY-LICENCES.txt /licenses/kube-netfilter-tailer/
COPY --from=build --chmod=0755 /src/dist/kube-netfilter-tailer.cjs /usr/local/bin/kube-netfilter-tailer
# One malloc arena, and below a small young generation: 15 MB less memory.
ENV PATH=/usr/local/bin:/usr/bin:/bin \
  MALLOC_ARENA_MAX=1
# Enough for `replay`. The DaemonSet runs it as root without capabilities: the logs of a node belong to root.
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/node", "--max-semi-space-size=1", "--optimize-for-size", "/usr/local/bin/kube-netfilter-tailer"]
CMD ["run"]

# The same with journalctl, for nodes whose kernel log is in the journal.
FROM plain AS journal
COPY --from=journal-root /target/ /
