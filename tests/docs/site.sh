#!/bin/sh
# site.sh SOURCE BUILD: builds the site strictly, which checks its navigation, links and headings.
# Takes an installed mkdocs with its material theme, else one from PyPI in BUILD/site-venv; where
# neither can be had, says so and is skipped.
set -eu
export NO_MKDOCS_2_WARNING=1
python=${PLACEWRIGHT_PYTHON3:-python3}
if ! "$python" -c 'import material, mkdocs' 2>/dev/null; then
  venv=$2/site-venv
  if ! "$venv/bin/python" -c 'import material, mkdocs' 2>/dev/null; then
    rm -rf "$venv"
    "$python" -m venv "$venv" >/dev/null 2>&1 &&
      "$venv/bin/pip" install -q --retries 1 --timeout 15 'mkdocs-material>=9.5,<10' >/dev/null 2>&1 || {
        rm -rf "$venv"
        echo "site: mkdocs-material is not installed and not to be had (pip install mkdocs-material)"
        exit 77
      }
  fi
  python=$venv/bin/python
fi
cd "$1"
"$python" -m mkdocs build --strict --quiet --site-dir "$2/site"
