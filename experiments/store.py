# SPDX-License-Identifier: BSD-3-Clause
"""Finished cells, a line of JSON each, so that a run that was stopped goes on where it was."""
import hashlib
import json
import os


def folder(work, program, files):
    """Of one program and one protocol, which is in these files: what others found is not mixed in."""
    digest = hashlib.sha256(program.read_bytes())
    for file in files:
        digest.update(file.read_bytes())
    found = work / digest.hexdigest()[:12]
    found.mkdir(parents=True, exist_ok=True)
    return found


class Store:
    def __init__(self, path):
        """A last line that was cut off is dropped."""
        self.path, self.found = path, {}
        lines = path.read_text().splitlines(keepends=True) if path.is_file() else []
        whole = [line for line in lines if line.endswith("\n")]
        for entry in map(json.loads, whole):
            self.found[tuple(entry["cell"])] = entry
        beside = path.with_suffix(".new")
        beside.write_text("".join(whole))
        os.replace(beside, path)

    def add(self, cell, scores):
        self.found[cell] = {"cell": cell, "scores": scores}
        with open(self.path, "a") as file:
            file.write(json.dumps(self.found[cell]) + "\n")
