#!/bin/sh
# consumers.sh PROGRAM FOLDER [ARGUMENTS of suite.py]: models of transformers, diffusers and
# torchvision, recorded and planned by PROGRAM and divided by Accelerate. Their packages come from
# PyPI into FOLDER (minutes and 6 GB the first time). Exit 77 where they are not to be had.
set -eu
program=$1 folder=$2
shift 2
here=$(dirname "$(readlink -f "$0")")
python=$folder/venv/bin/python

skip() {
  echo "skipped: $*"
  exit 77
}

# Whether the environment has what requirements.txt says; the mark is a copy of it.
if ! cmp -s "$here/requirements.txt" "$folder/installed.txt"; then
  base=$(command -v python3) || skip "python3 is not installed"
  "$base" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
    skip "$base is older than 3.10, which these packages need"
  mkdir -p "$folder"
  free=$(df -Pk "$folder" | awk 'NR == 2 { print int($4 / 1048576) }')
  [ "$free" -ge 12 ] || skip "$folder has $free GiB of free space; the packages need 12"
  "$base" -m venv --clear "$folder/venv" >"$folder/pip.log" 2>&1 ||
    skip "python3 cannot make virtual environments (Debian: python3-venv): see $folder/pip.log"
  echo "installing packages from PyPI into $folder"
  "$python" -m pip install --no-compile --no-cache-dir --disable-pip-version-check \
    -r "$here/requirements.txt" >"$folder/pip.log" 2>&1 ||
    skip "pip cannot get the packages: see $folder/pip.log"
  cp "$here/requirements.txt" "$folder/installed.txt"
fi
PLACEWRIGHT_PROGRAM=$program PYTHONDONTWRITEBYTECODE=1 HF_HUB_OFFLINE=1 \
  exec "$python" -W ignore "$here/suite.py" "$@"
