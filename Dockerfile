# Metronome in a container, as docker starts one by default: no privileges, no devices, 64 MB of
# shared memory.
#   docker build --tag metronome .
#   docker run --rm metronome                          runs the quick start
#   docker run --rm --volume "$PWD/runs:/metronome/runs" metronome run two-layers
#
# The records are below /metronome/runs. To own them, start with --user "$(id -u):$(id -g)".
FROM debian:trixie-slim

# Not below /root, so that every user finds what is built here, and can draw figures without a home.
ENV XDG_CACHE_HOME=/var/cache MPLCONFIGDIR=/tmp/matplotlib
WORKDIR /metronome
COPY . .

# All that ./metronome installs, and the virtual clock's kernel, so that a run starts at once. The
# training loop is compiled for the processor that it runs on, in the cache.
RUN ./metronome kernel \
    && mkdir --parents runs /var/cache/metronome/native \
    && chmod 1777 runs /var/cache/metronome/native \
    && apt-get clean \
    && rm -rf /var/lib/apt/lists/* /root/.cache

ENTRYPOINT ["./metronome"]
CMD ["run"]
