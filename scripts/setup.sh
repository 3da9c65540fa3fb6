#!/bin/sh
# Makes a virtual environment of this checkout: exactly what the lock pins, and Headrace itself,
# editable. Uses uv when it is there, else Python's own venv and pip.
set -eu

venv=${1:?usage: setup.sh VENV [LOCK]}
lock=${2:-requirements/dev.txt}

fits() {
    # Asked by running it: a name on the path may be a version manager's shim that leads nowhere.
    "$1" -c 'import sys; raise SystemExit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        if fits "$PYTHON"; then
            echo "$PYTHON"
            return
        fi
        echo "PYTHON=$PYTHON is not a Python 3.11 or newer that runs" >&2
        exit 1
    fi
    for name in python3 python3.13 python3.12 python3.11 python3.14 python; do
        if fits "$name"; then
            echo "$name"
            return
        fi
    done
    echo "no Python 3.11 or newer was found on the path" >&2
    echo "install one (apt install python3 python3-venv, brew install python@3.13, ...)," >&2
    echo "or name it: make PYTHON=/path/to/python3.13 ..." >&2
    exit 1
}

# An environment that an earlier run left is kept when its interpreter still runs, unless another
# one is asked for by name.
if ! fits "$venv/bin/python" || [ -n "${PYTHON:-}" ]; then
    python=$(find_python)
    echo "setting up $venv with $("$python" --version) (a few minutes the first time)"
    rm -rf "$venv"
    if command -v uv >/dev/null; then
        uv venv --quiet --python "$("$python" -c 'import sys; print(sys.executable)')" "$venv"
        # uv does without pip, but jobs that bring requirements do not.
        "$venv/bin/python" -m ensurepip >/dev/null 2>&1 || echo "$venv has no pip"
    elif ! "$python" -m venv "$venv"; then
        rm -rf "$venv"
        echo "$python cannot make virtual environments; on Debian and Ubuntu: apt install python3-venv" >&2
        exit 1
    fi
fi

if command -v uv >/dev/null; then
    install() { VIRTUAL_ENV="$PWD/$venv" uv pip install --quiet --no-build-isolation "$@"; }
else
    "$venv/bin/python" -m pip --version >/dev/null 2>&1 || "$venv/bin/python" -m ensurepip
    install() {
        "$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
            --no-build-isolation --use-pep517 "$@"
    }
fi

install --require-hashes -r requirements/build.txt
install --require-hashes -r "$lock"
install --no-deps --editable .

# Spark starts in half the time with its classes kept (docs/adr/0009-start-up.md); it runs without.
echo "keeping Spark's classes (a minute)"
"$venv/bin/headrace" prepare >/dev/null 2>&1 || echo "that failed; jobs run all the same"
