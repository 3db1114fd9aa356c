# SPDX-License-Identifier: BSD-3-Clause
"""Tables for notebooks. Colours are the page's own with some transparency, so that light and dark both read well."""
from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._head import Head

_TABLE = "border-collapse:collapse;font-variant-numeric:tabular-nums"
_CELL = "padding:2px 10px;text-align:{side};border-bottom:1px solid rgba(128,128,128,.3)"
_BAR = ("<div style='background:rgba(70,130,220,.25);width:{share:.1f}%;min-width:1px;padding:0 2px;"
        "white-space:nowrap'>{text}</div>")


def cell(text: Any, right: bool = False, tag: str = "td") -> str:
    style = _CELL.format(side="right" if right else "left")
    return f"<{tag} style='{style}'>{html.escape(str(text))}</{tag}>"


def bar_cell(text: str, share: float) -> str:
    """A figure on a bar that fills `share` of the cell."""
    bar = _BAR.format(share=100 * min(max(share, 0), 1), text=html.escape(text))
    return f"<td style='{_CELL.format(side='left')};min-width:10em'>{bar}</td>"


def table(caption: str, header: list[str], rows: list[str]) -> str:
    titles = "".join(cell(h, tag="th") for h in header)
    head = f"<thead><tr>{titles}</tr></thead>" if header else ""
    body = "".join(f"<tr>{r}</tr>" for r in rows)
    return (f"<table style='{_TABLE}'><caption style='text-align:left;font-weight:bold'>{html.escape(caption)}"
            f"</caption>{head}<tbody>{body}</tbody></table>")


def head_html(head: Head) -> str:
    return table("tenon head", [], [cell(k) + cell(v) for k, v in head.summary().items()])
