#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares every cell of a page with the results that it was made of: cells.py PAGE.html RESULT.json...

A table is known by its caption; one that is not known is a failure, so that no figure goes unseen. A cell's data-v must
be the very number of the JSON, and what is shown that number to the digits that are shown. Uses the standard library only."""
import json
import sys
from html.parser import HTMLParser


class Page(HTMLParser):
    """Tables as (section, caption, heads, rows), a cell being (text, data-v or None); tiles as numbers with their text."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tables, self.tiles, self.section, self.inside = [], [], -1, []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "table":
            self.tables.append({"caption": "", "heads": [], "rows": [], "section": self.section})
        elif tag == "tr" and "tbody" in self.inside:
            self.tables[-1]["rows"].append([])
        elif tag in ("td", "th") and "tbody" in self.inside:
            self.tables[-1]["rows"][-1].append(["", attributes.get("data-v")])
        elif tag == "th":
            self.tables[-1]["heads"].append("")
        elif tag == "section":
            self.section += 1
        elif tag == "dd":
            self.tiles.append(["", attributes["data-v"]])
        if tag not in ("meta", "img", "br"):
            self.inside.append(tag)

    def handle_endtag(self, tag):
        while self.inside and self.inside.pop() != tag:
            pass

    def handle_data(self, data):
        if "table" in self.inside:
            if "caption" in self.inside:
                self.tables[-1]["caption"] += data
            elif "tbody" in self.inside and self.inside[-1] in ("td", "th"):
                self.tables[-1]["rows"][-1][-1][0] += data
            elif "thead" in self.inside and self.inside[-1] == "th":
                self.tables[-1]["heads"][-1] += data
        elif self.inside and self.inside[-1] == "dd":
            self.tiles[-1][0] += data


def same_number(cell, value, where):
    text, exact = cell
    if value is None:
        assert exact == "" and text == "", f"{where}: {cell}, expected nothing"
        return
    assert float(exact) == value, f"{where}: {exact}, expected {value}"
    shown = float(text.replace("\u00a0", "").rstrip("%")) / (100 if text.endswith("%") else 1)
    digits = text.rstrip("%\u00a0").lower().split("e")
    unit = 10.0 ** (-len(digits[0].partition(".")[2]) + (int(digits[1]) if len(digits) > 1 else 0))
    unit /= 100 if text.endswith("%") else 1
    assert abs(shown - value) <= 0.5000001 * unit, f"{where}: shows {text} for {value}"


def check_rows(table, items, where, names=(), rename=None):
    """Rows are items in order; heads are their keys, those of `names` texts."""
    assert len(table["rows"]) == len(items), f"{where}: {len(table['rows'])} rows, expected {len(items)}"
    count = 0
    for row, item in zip(table["rows"], items):
        for head, cell in zip(table["heads"], row, strict=True):
            key = (rename or {}).get(head, head)
            if key is None:
                continue
            if key in names:
                want = item.get(key)
                want = want if isinstance(want, str) else ""
                assert cell[0] == want, f"{where}: {cell[0]!r}, expected {want!r}"
            else:
                same_number(cell, item.get(key), f"{where}: {key}")
            count += 1
    return count


def by_name(values):
    return [{"metric": name, **value} for name, value in values.items()]


def worst_first(classes):
    def order(pair):
        c = pair[1]
        missed = c["support"] - c["hits"] if "support" in c else 0
        value = c.get("f1") if c.get("f1") is not None else c.get("r2")
        return (-missed, float("inf") if value is None else value, pair[0])
    return [c for _, c in sorted(enumerate(classes), key=order)]


def taken_for(result):
    best = {}
    for t, p, n in result.get("confusion", []):
        if t != p and n > best.get(t, (0, 0))[0]:
            best[t] = (n, p)
    return best


def members(thing):
    def shown(value):
        return "yes" if value is True else "no" if value is False else value if isinstance(value, str) else ""
    return [(k, v if type(v) in (int, float) else shown(v)) for k, v in thing.items() if not isinstance(v, (list, dict))]


def check_members(table, thing, where):
    want = members(thing)
    assert len(table["rows"]) == len(want), f"{where}: {len(table['rows'])} rows, expected {len(want)}"
    for (name, value), (key, expected) in zip(table["rows"], want):
        assert name[0] == key, f"{where}: {name[0]}, expected {key}"
        if isinstance(expected, str):
            assert value[0] == expected, f"{where}: {value[0]!r}, expected {expected!r}"
        else:
            same_number(value, expected, f"{where}: {key}")
    return 2 * len(want)


def check_table(table, result, where):
    caption = table["caption"]
    if caption == "Figures and their 95 % intervals":
        bounds = result.get("intervals", {})
        return check_rows(table, [{"metric": k, "value": v, **bounds.get(k, {})} for k, v in result["metrics"].items()],
                          where, ("metric",))
    if caption == "Differences":
        return check_rows(table, by_name(result["comparison"]["metrics"]), where, ("metric",))
    if caption == "Classes by the rows that were missed":
        best, names = taken_for(result), [c["class"] for c in result["per_class"]]
        place = {id(c): k for k, c in enumerate(result["per_class"])}
        items = []
        for c in worst_first(result["per_class"]):
            n, p = best.get(place[id(c)], (0, 0))
            items.append({**c, "mostly taken for": f"{names[p]} ({n})" if n else ""})
        return check_rows(table, items, where, ("class", "mostly taken for"))
    if caption == "Most confused pairs":
        return check_rows(table, result["confused"], where, ("true", "predicted"), {"taken for": "predicted"})
    if caption == "Bins of confidence":
        return check_rows(table, result["reliability"], where)
    if caption == "Wrong rows of largest confidence":
        return check_rows(table, result["mistakes"], where, ("id", "true", "predicted"), {"taken for": "predicted"})
    if caption == "Residuals of every output":
        return check_rows(table, [{"output": c["class"], **c["residuals"]} for c in result["per_class"]], where, ("output",))
    if caption == "Candidates, best first":
        return check_rows(table, result["candidates"], where, ("name",))
    if caption == "Candidates in the order they were tried":
        return check_rows(table, [{**s, "accepted": "yes" if s["accepted"] else "no"} for s in result["steps"]], where,
                          ("candidate", "accepted"))
    if caption == "Methods that raced":
        items = [{**t, "taken": "yes" if t["chosen"] else t["note"] or "no"} for t in result["tried"]]
        return check_rows(table, items, where, ("method", "set", "taken"))
    if caption == "Values that were tried":
        return check_rows(table, result["cross_validation"]["grid"], where)
    if caption == "Passes":
        return check_rows(table, result["epochs"], where)
    if caption == "Methods":
        return check_rows(table, result["methods"], where, ("method",))
    if caption == "Contributing rate":
        rates = result["contributing_rate"]
        return check_rows(table, [{"values": i + 1, "rate": r} for i, r in enumerate(rates)], where)
    if caption == "k(x, y) on the scaled axis, x downward":
        size = len(result["table"])
        rows = [{"x": (i + 0.5) / size, **{f"y {(j + 0.5) / size:.4g}": v for j, v in enumerate(row)}}
                for i, row in enumerate(result["table"])]
        return check_rows(table, rows, where)
    if caption == "Files":
        return check_rows(table, result["provenance"]["files"], where, ("path", "sha256"), {"file": "path"})
    if caption == "How it was made":
        return check_members(table, result["provenance"], where)
    if caption == "Options":
        return check_members(table, result["provenance"]["options"], where)
    if caption == "Further members of the result":
        return check_members(table, result, where)
    raise AssertionError(f"{where}: no table of this caption is known")


# Tables that stand once per item of a list: the item is the next one.
EACH = {"Mean over the folds, and its standard error": lambda r: [m["metrics"] for m in r["methods"]],
        "Leave-one-out error of what was compared": lambda r: [
            c["candidates"] for c in ([r] + r.get("per_class", [])) if isinstance(c.get("candidates"), dict)],
        "Features and sources in the order they were picked": lambda r: [
            c for c in ([r] + r.get("per_class", [])) if c.get("selected")]}


def check_each(table, item, where):
    if table["caption"].startswith("Mean over"):
        return check_rows(table, by_name(item), where, ("metric",))
    if table["caption"].startswith("Leave-one-out"):
        return check_rows(table, [{"candidate": k, "loo_error": v} for k, v in item.items()], where, ("candidate",))
    path = item.get("loo_path", [])
    items = [{**p, "loo_path": path[i + 1] if i + 1 < len(path) else None} for i, p in enumerate(item["selected"][:20])]
    return check_rows(table, items, where, ("name", "kind"))


def numbers_of(thing):
    if isinstance(thing, dict):
        for value in thing.values():
            yield from numbers_of(value)
    elif isinstance(thing, list):
        for value in thing:
            yield from numbers_of(value)
    elif type(thing) in (int, float):
        yield float(thing)


def owner_of(table, results):
    """The result whose table this is: they come in the order of the results within a caption."""
    def has(r):
        try:
            check_table(table, r, "")
            return True
        except (AssertionError, KeyError, TypeError, IndexError, ValueError):
            return False
    return next((r for r in results if has(r)), None)


def main(page_path, *result_paths):
    with open(page_path, encoding="utf-8") as file:
        page = Page(file.read())
    results = []
    for path in result_paths:
        with open(path, encoding="utf-8") as file:
            results.append(json.load(file))
    cells, used = 0, {}
    for table in page.tables:
        caption = table["caption"]
        where = f"{page_path}: {caption}"
        if caption == "Results of this page":
            assert len(table["rows"]) >= len(results)
            known = {x for r in results for x in numbers_of(r)}
            for row in table["rows"]:
                for text, exact in row[2:]:
                    assert not exact or float(exact) in known, f"{where}: {exact}"
                    cells += 1
        elif caption in EACH:
            items = [item for r in results if r["command"] in ("cv", "transfer") for item in EACH[caption](r)]
            place = used[caption] = used.get(caption, -1) + 1
            cells += check_each(table, items[place], where)
        else:
            owner = owner_of(table, results)
            if owner is None and len(results) == 1:
                check_table(table, results[0], where)
            assert owner is not None, f"{where}: no result has these figures"
            cells += check_table(table, owner, where)
    known = {x for r in results for x in numbers_of(r)}
    for text, exact in page.tiles:
        assert float(exact) in known, f"{page_path}: the tile {text} is of no result"
    assert cells > 20 and page.tiles
    print(f"{page_path}: {len(page.tables)} tables, {cells} cells, {len(page.tiles)} tiles")


main(*sys.argv[1:])
