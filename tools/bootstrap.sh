#!/bin/sh
# Makes .venv hold exactly what requirements.lock says. Run by the Makefile before anything that needs Python;
# returns at once when there is nothing to do, and can be run again after it was interrupted.
set -eu

cd "$(dirname "$0")/.."
project=$(pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/nomad-stateful
venv=$project/.venv
stamp=$venv/.lock-sha256
installer_pins=tools/uv-requirements.txt
log=

say() { echo "bootstrap: $*" >&2; }

fail() {
    echo "error: $*" >&2
    exit 1
}

cleanup() { [ -z "$log" ] || rm -rf "$log" "${unfinished:-$log}"; }
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Runs a command whose output only matters when it fails.
quietly() {
    "$@" >"$log" 2>&1 || {
        tail -n 15 "$log" >&2
        return 1
    }
}

# What .venv must have been made from: the pins, the place it lies in and its Python.
wanted_stamp() {
    {
        cat requirements.lock "$installer_pins" tools/bootstrap.sh
        echo "$project"
        "$venv/bin/python" -c 'import sys; print(sys.version)'
    } 2>/dev/null | sha256sum | cut -d ' ' -f 1
}

is_new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() {
    for name in python3 python3.13 python3.12 python3.11; do
        if is_new_enough "$name"; then
            echo "$name"
            return
        fi
    done
    found=$(python3 --version 2>&1) || found="no python3"
    fail "python3 is '$found': Python 3.11 or newer must be on PATH." \
        "Install it (Debian: apt-get install python3 python3-venv) and run this again."
}

# Debian ships venv without the part that puts pip into a new environment.
require_ensurepip() {
    if "$1" -c 'import ensurepip' 2>/dev/null; then return; fi
    version=$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    package=python$version-venv
    advice="Install it (apt-get install $package) and run this again."
    command -v apt-get >/dev/null || fail "$1 has no ensurepip: it is needed to make .venv. Install Python's venv package."
    [ "$(id -u)" -eq 0 ] || fail "$1 has no ensurepip: it is needed to make .venv. $advice"
    say "installing $package ($1 cannot make a virtual environment without it)"
    quietly apt-get -qq update || say "some package lists could not be fetched"
    DEBIAN_FRONTEND=noninteractive quietly apt-get -qq -y install --no-install-recommends "$package" \
        || fail "$package could not be installed: it is needed to make .venv. $advice"
}

make_venv() {
    if is_new_enough "$venv/bin/python" && "$venv/bin/python" -m pip --version >/dev/null 2>&1; then return; fi
    python=$(find_python)
    require_ensurepip "$python"
    say "making .venv with $("$python" --version 2>&1)"
    quietly "$python" -m venv --clear "$venv" \
        || fail ".venv could not be made with $python. Fix what is said above and run this again."
}

# A pip before 24.2 knows only the certificates that it brings along, unless it is told of others.
use_system_certificates() {
    [ -z "${PIP_CERT-}${REQUESTS_CA_BUNDLE-}${CURL_CA_BUNDLE-}" ] || return 0
    case $("$venv/bin/python" -m pip config list 2>/dev/null) in *.cert=*) return 0 ;; esac
    for found in "${SSL_CERT_FILE-}" /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt; do
        if [ -f "$found" ]; then
            export PIP_CERT="$found"
            return 0
        fi
    done
}

# uv is installed once into the cache and shared by all clones; its folder gets its name when it is complete.
provide_uv() {
    uv=$cache/uv-$(sha256sum <"$installer_pins" | cut -c 1-16)
    if [ -x "$uv/bin/uv" ]; then return; fi
    say "fetching the package installer"
    mkdir -p "$cache"
    unfinished=$(mktemp -d "$cache/.unfinished-uv-XXXXXX")
    use_system_certificates
    quietly "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: \
        --require-hashes --target "$unfinished/made" -r "$installer_pins" \
        || fail "$installer_pins could not be installed. Check network and proxy, and that the" \
            "system trusts the proxy's certificate (pip's settings are in force)."
    # Another run may have been faster; its result is as good.
    mv -T "$unfinished/made" "$uv" 2>/dev/null || [ -x "$uv/bin/uv" ] || fail "$uv could not be made."
}

install_packages() {
    say "installing the packages of requirements.lock"
    quietly "$uv/bin/uv" --quiet pip sync --python "$venv/bin/python" --require-hashes requirements.lock \
        || fail "requirements.lock could not be installed. Check network and proxy, and that the" \
            "system trusts the proxy's certificate (uv's settings are in force)."
}

# The project's own command; a wheel brings it along.
install_command() {
    # Not by PYTHONPATH: what it starts may be a program that has another version of the package.
    "$venv/bin/python" - "$project" "$venv/bin/python" >"$venv/bin/nomad-stateful" <<'END'
import shlex, sys
project, python = map(shlex.quote, sys.argv[1:])
run = "import sys; sys.path.insert(0, sys.argv.pop(1)); from nomad_stateful.operate.__main__ import run; run()"
print(f"#!/bin/sh\nexec {python} -P -c '{run}' {project} \"$@\"")
END
    chmod +x "$venv/bin/nomad-stateful"
}

# Byte code of what every command imports; all of the packages would be a minute's work and half a gigabyte.
compile_packages() {
    env -u PYTHONDONTWRITEBYTECODE "$venv/bin/python" -c "$imported" >"$log" 2>&1 || true
}
imported='import boto3, grpc, httpx2, moto.server, moto.ec2.models, moto.iam.models, pip._internal.commands.list
import pulumi_aws.ebs, pulumi_aws.iam, pulumi_nomad, pydantic'

if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$(wanted_stamp)" ]; then exit 0; fi

log=$(mktemp)
rm -f "$stamp"
make_venv
provide_uv
install_packages
install_command
compile_packages
wanted_stamp >"$stamp.new"
mv "$stamp.new" "$stamp"
