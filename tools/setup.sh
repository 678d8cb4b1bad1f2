# Sourced by ./run and ./test with `root` set to the repository's folder: installs what is missing,
# builds what is stale. Everything said goes to stderr; nothing is said when nothing is to do.

say() { printf 'placewright: %s\n' "$*" >&2; }

# All packages if `with_tests` is set, else those that build the program.
wanted_packages() {
  if [ -n "${with_tests:-}" ]; then
    sed 's/#.*//' "$root/tools/packages.txt"
  else
    sed '/# only \.\/test/d; s/#.*//' "$root/tools/packages.txt"
  fi
}

# Asks dpkg only: no network, no lock, a few milliseconds.
missing_packages() {
  wanted=$(wanted_packages)
  # shellcheck disable=SC2086  # a list of words by design
  installed=$(dpkg-query -W -f='|${db:Status-Abbrev}|${Package}|\n' $wanted 2>/dev/null || true)
  for package in $wanted; do
    case $installed in
      *"|ii |$package|"*) ;;
      *) printf '%s ' "$package" ;;
    esac
  done
}

install_missing() {
  # Another system than Debian: its owner knows how to install the list; cmake names what it lacks.
  command -v dpkg-query >/dev/null 2>&1 || return 0
  missing=$(missing_packages)
  [ -n "$missing" ] || return 0
  if [ "$(id -u)" -ne 0 ]; then
    say "these packages are missing: $missing"
    say "install them with: sudo apt-get update && sudo apt-get install -y --no-install-recommends $missing"
    exit 6
  fi
  say "installing $missing"
  mkdir -p "$root/build"
  log=$root/build/apt.log
  # shellcheck disable=SC2086
  if ! { DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 update &&
         DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install -y \
           --no-install-recommends $missing; } </dev/null >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    say "apt-get failed; its whole output is in $log"
    exit 6
  fi
}

# One job per core, but no more than one per 1.3 GiB of free memory, which the largest source takes.
build_jobs() {
  cores=$(nproc)
  free=$(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo 2>/dev/null || true)
  jobs=$(( ${free:-8388608} / 1363149 ))
  [ "$jobs" -lt "$cores" ] || jobs=$cores
  [ "$jobs" -ge 1 ] || jobs=1
  echo "$jobs"
}

configure() {
  cache=$root/build/CMakeCache.txt
  # A build folder that was copied or moved with the sources names other paths: start it afresh.
  if [ -f "$cache" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$cache"; then
    rm -rf "$cache" "$root/build/CMakeFiles" "$root/build/build.ninja"
  fi
  # PLACEWRIGHT_TORCH: the folder of an installed PyTorch to build against, from then on; "system": Debian's again.
  torch=
  if [ -f "$cache" ]; then
    torch=$(sed -n 's/^PLACEWRIGHT_TORCH:PATH=//p' "$cache")
  fi
  wanted=${PLACEWRIGHT_TORCH:-$torch}
  [ "$wanted" != system ] || wanted=
  if [ -n "$wanted" ] && [ ! -e "$wanted/include/ATen/ATen.h" ]; then
    say "PLACEWRIGHT_TORCH=$wanted holds no PyTorch: give the folder that this prints:"
    say "python3 -c 'import torch; print(torch.__path__[0])'"
    exit 2
  fi
  # What was found in the one is not in the other.
  if [ "$wanted" != "$torch" ]; then
    rm -rf "$cache" "$root/build/CMakeFiles" "$root/build/build.ninja"
  fi
  [ -f "$root/build/build.ninja" ] && return 0
  log=$root/build/configure.log
  if ! (cd "$root" && cmake --preset release "-DPLACEWRIGHT_TORCH=$wanted") </dev/null >"$log" 2>&1
  then
    tail -n 20 "$log" >&2
    say "cmake failed; its whole output is in $log"
    exit 1
  fi
}

# build_targets TARGET...: brings them up to date in build/, the one optimised build.
build_targets() {
  mkdir -p "$root/build"
  # Two commands at once build one after the other.
  exec 9>"$root/build/.lock"
  flock 9
  configure
  if ! ninja -C "$root/build" -n "$@" 2>/dev/null | tail -n 1 | grep -q 'no work to do'; then
    say "building in $root/build (some minutes the first time)"
    quiet=--quiet
    [ -t 2 ] && quiet=
    # shellcheck disable=SC2086
    if ! ninja -C "$root/build" $quiet -j "$(build_jobs)" "$@" </dev/null >&2; then
      say "the build failed: see above"
      exit 1
    fi
  fi
  exec 9>&-
}
