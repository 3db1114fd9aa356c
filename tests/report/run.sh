#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Tests of the pages. Exits 77, saying why, where what a part needs is not there.
# Usage: run.sh pages|cells|browser TENON BUILD
#   pages    makes them below BUILD; the others look at these
#   cells    every cell against the JSON, by a parser (python3)
#            TENON_NEED_BROWSER=1 makes a failure of what would be skipped
#   browser  chromium by puppeteer-core, with axe-core: tools/install_deps.sh browser puts both into BUILD/browser
set -eu
part=$1
tenon=$2
build=$(cd "$3" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
pages=$build/report-pages

skip() {
    echo "$1"
    [ -z "${TENON_NEED_BROWSER:-}" ] || exit 1
    exit 77
}
command -v python3 >/dev/null || skip "python3 is not installed"

case $part in
pages)
    rm -rf "$pages"
    exec python3 -B "$here/make_pages.py" "$tenon" "$here/../../data/demo" "$pages"
    ;;
cells)
    cd "$pages"
    cells() { python3 -B "$here/cells.py" "$@"; }
    cells all.html rank.json fit.json grid.json passes.json cv.json eval.json head.json
    cells plain.html eval.json
    for name in regression transfer kernel large; do cells $name.html $name.json; done
    # A figure that is another must be told.
    sed 's/"accuracy":0\.8/"accuracy":0.7/' eval.json >other.json
    if cells plain.html other.json >/dev/null 2>&1; then
        echo "another accuracy was not noticed"
        exit 1
    fi
    ;;
browser)
    modules=${TENON_BROWSER_MODULES:-$build/browser/node_modules}
    for name in "${TENON_BROWSER:-chromium}" chromium-browser google-chrome; do
        chromium=$(command -v "$name") && break
    done
    [ -n "${chromium:-}" ] || skip "chromium is not installed"
    command -v node >/dev/null || skip "node is not installed"
    [ -d "$modules/puppeteer-core" ] && [ -d "$modules/axe-core" ] || skip "no puppeteer-core and axe-core in $modules"
    exec node "$here/browser.mjs" "$modules" "$chromium" "$pages"
    ;;
*)
    echo "run.sh: unknown part '$part', expected pages, cells or browser" >&2
    exit 2
    ;;
esac
