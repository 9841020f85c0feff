# docker build --target plain   -t kube-netfilter-tailer:0.1.0 .
# docker build --target journal -t kube-netfilter-tailer:0.1.0-journal .
#
# The bases are named by digest, so that a build cannot change under you: the digest is what is pulled, the tag is for people. Both are indexes
# for all architectures. A newer one: `docker buildx imagetools inspect NAME:TAG`, or Renovate, which knows such ARGs (docs/deploy.md).
# Where npm needs a registry of your own: --secret id=npmrc,src=$HOME/.npmrc
ARG NODE_IMAGE=docker.io/library/node:24.21.0-bookworm-slim@sha256:d6aa754f16b3197301076f047b5def2f02ea1dbbc2ca920407d46d7ec7f87b20
ARG DEBIAN_IMAGE=docker.io/library/debian:bookworm-20261005-slim@sha256:7c7b2c966bc9ee8cedfeef67e0e279108992c77681fa595db4a9d65c06ccc587

# The bundle is the same for all architectures, so it is built on the builder's own.
FROM --platform=$BUILDPLATFORM ${NODE_IMAGE} AS build
WORKDIR /src
COPY package.json package-lock.json ./
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json ./
COPY scripts/build.mjs scripts/bundled-packages.mjs scripts/kubeconfig-only.mjs scripts/image-licences.mjs scripts/report-bundle.mjs scripts/sbom.mjs scripts/
COPY data data
COPY src src
# The first line names the node of the image, which has no `env`: `kubectl exec POD -- kube-netfilter-tailer …` needs it.
RUN node scripts/build.mjs \
  && node scripts/image-licences.mjs dist/THIRD-PARTY-LICENCES.txt \
  && sed -i '1s|^#!.*|#!/usr/local/bin/node|' dist/kube-netfilter-tailer.cjs

# Only files are taken from it, so nothing of another architecture has to run.
FROM ${NODE_IMAGE} AS node

FROM --platform=$BUILDPLATFORM ${DEBIAN_IMAGE} AS packages
COPY scripts/image-root.sh /usr/local/bin/image-root

# What the node binary is linked to; gcc-12-base has the copyright of GCC's libraries.
FROM packages AS plain-root
ARG TARGETARCH
RUN image-root "$TARGETARCH" /target base-files gcc-12-base libc6 libgcc-s1 libstdc++6

# What journalctl is linked to.
FROM packages AS journal-root
ARG TARGETARCH
RUN image-root "$TARGETARCH" /target systemd libsystemd-shared libacl1 libaudit1 libblkid1 libcap-ng0 libcap2 libcrypt1 \
  libgcrypt20 libgpg-error0 libip4tc2 libkmod2 liblz4-1 liblzma5 libmount1 libpam0g libpcre2-8-0 libseccomp2 libselinux1 \
  libssl3 libzstd1

# What each image is made of, as scanners read it: the bundle's packages, Node.js, Debian's packages.
FROM build AS plain-bill
COPY --from=plain-root /target/var/lib/dpkg/status.d /image/var/lib/dpkg/status.d
RUN node scripts/sbom.mjs /sbom.cdx.json --image /image

FROM plain-bill AS journal-bill
COPY --from=journal-root /target/var/lib/dpkg/status.d /image/var/lib/dpkg/status.d
RUN node scripts/sbom.mjs /sbom.cdx.json --image /image

# No shell, no package manager.
FROM scratch AS plain
ARG VERSION=0.1.0
ARG REVISION=unknown
# Where registries and what looks for newer versions find the repository and its changelog.
ARG SOURCE=unknown
LABEL org.opencontainers.image.title="kube-netfilter-tailer" \
  org.opencontainers.image.description="Tells the Pods whose packets a node's netfilter drops: reads kernel logs, writes Kubernetes Events" \
  org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.version="$VERSION" \
  org.opencontainers.image.revision="$REVISION" \
  org.opencontainers.image.source="$SOURCE" \
  org.opencontainers.image.url="$SOURCE"
COPY --from=plain-root /target/ /
COPY --from=node /usr/local/bin/node /usr/local/bin/node
COPY --from=node /usr/local/LICENSE /licenses/node/LICENSE
COPY LICENSE /licenses/kube-netfilter-tailer/LICENSE
COPY --from=build /src/dist/THIRD-PARTY-LICENCES.txt /licenses/kube-netfilter-tailer/
COPY --from=plain-bill /sbom.cdx.json /usr/share/sbom/kube-netfilter-tailer.cdx.json
COPY --from=build --chmod=0755 /src/dist/kube-netfilter-tailer.cjs /usr/local/bin/kube-netfilter-tailer
# One malloc arena, and what V8 takes to read the program goes back to the kernel afterwards (docs/performance.md).
ENV PATH=/usr/local/bin:/usr/bin:/bin \
  MALLOC_ARENA_MAX=1 \
  MALLOC_MMAP_THRESHOLD_=32768
# Enough for `replay`. The DaemonSet runs it as root without capabilities: the logs of a node belong to root.
USER 65532:65532
# Without pretenuring, because V8 would take the objects of all packets for long-lived once those of the first have stayed (docs/performance.md).
# Compiled code that did not run between two collections goes: much of it runs only at the start.
ENTRYPOINT ["/usr/local/bin/node", "--max-semi-space-size=1", "--no-allocation-site-pretenuring", "--optimize-for-size", "--bytecode-old-age=1", "--flush-baseline-code", "/usr/local/bin/kube-netfilter-tailer"]
CMD ["run"]

# The same with journalctl, for nodes whose kernel log is in the journal.
FROM plain AS journal
COPY --from=journal-root /target/ /
COPY --from=journal-bill /sbom.cdx.json /usr/share/sbom/kube-netfilter-tailer.cdx.json
