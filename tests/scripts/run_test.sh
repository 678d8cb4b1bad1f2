#!/bin/sh
# run_test.sh ROOT: ./run from another folder, by a symbolic link, twice at once, and quickly.
set -eu
root=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "run_test: $*" >&2; exit 1; }

mkdir "$scratch/elsewhere"
ln -s "$root/run" "$scratch/elsewhere/placewright"
cd "$scratch/elsewhere"
start=$(date +%s%N)
version=$(./placewright --version 2>"$scratch/err")
milliseconds=$(( ($(date +%s%N) - start) / 1000000 ))
case $version in
  "placewright "*) ;;
  *) fail "said: $version" ;;
esac
# Nothing was stale: nothing to say, and well under a second.
[ ! -s "$scratch/err" ] || fail "standard error: $(cat "$scratch/err")"
[ "$milliseconds" -lt 1000 ] || fail "took $milliseconds ms with nothing to do"

# The caller's folder and exit statuses are the program's.
status=0
./placewright inspect missing.json 2>/dev/null || status=$?
[ "$status" -eq 3 ] || fail "status $status for a missing file"
./placewright plan "$root/examples/tiny_transformer_adam.json.gz" -c 2xV100 --iterations 1 >/dev/null &
"$root/run" cluster check "$root/examples/clusters/small-lab.yaml" >/dev/null || fail "cluster check"
wait $! || fail "plan beside another run"
[ -f tiny_transformer_adam.plan.json ] || fail "the plan is not in the caller's folder"
echo "run: $milliseconds ms with nothing to do"
