#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Every command is in the manual page and in the Markdown; the page is well-formed where groff is there to say so.
"$TENON" help --format man >tenon.1
"$TENON" help --format markdown >cli.md
for command in rank fit predict eval info doctor help completion; do
    grep -q "^## tenon $command$" cli.md || echo "cli.md lacks $command"
    grep -qi "^.SH tenon $command$" tenon.1 || echo "tenon.1 lacks $command"
done
if command -v groff >/dev/null; then
    groff -man -Tascii -ww tenon.1 2>&1 >/dev/null | grep -v 'font' || true
fi
