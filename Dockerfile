# The program and the licences of its parts: nothing else is in the image.
#     ./dev wheel static-x86_64 static-aarch64 && docker build -t flopledger .
#     docker run --rm -v "$PWD:/data:ro" -w /data flopledger report trace.json.gz
FROM scratch
ARG TARGETARCH
COPY dist/flopledger-linux-licenses.txt /licenses.txt
COPY --chmod=0755 dist/flopledger-linux-${TARGETARCH} /flopledger
ENV HOME=/tmp
ENTRYPOINT ["/flopledger"]
