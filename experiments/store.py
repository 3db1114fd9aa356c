# SPDX-License-Identifier: BSD-3-Clause
"""Finished cells, a line of JSON each, so that a run that was stopped goes on where it was."""
import hashlib
import json
import os
import resource


def folder(work, program, files):
    """Of one program and one protocol, which is in these files: what others found is not mixed in."""
    digest = hashlib.sha256(program.read_bytes())
    for file in files:
        digest.update(file.read_bytes())
    found = work / digest.hexdigest()[:12]
    found.mkdir(parents=True, exist_ok=True)
    return found


def spent():
    """Seconds of processor time, of this process and all that ended before it."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(use.ru_utime + use.ru_stime for use in used)


class Store:
    def __init__(self, path):
        """A last line that was cut off is dropped."""
        self.path, self.found, self.last = path, {}, spent()
        lines = path.read_text().splitlines(keepends=True) if path.is_file() else []
        whole = [line for line in lines if line.endswith("\n")]
        for entry in map(json.loads, whole):
            self.found[tuple(entry["cell"])] = entry
        beside = path.with_suffix(".new")
        beside.write_text("".join(whole))
        os.replace(beside, path)

    def add(self, cell, scores):
        """With what was spent since the last one, on whatever: the sum over the cells is that of all runs."""
        now, last = spent(), self.last
        self.last = now
        self.found[cell] = {"cell": cell, "scores": scores, "cpu": now - last}
        with open(self.path, "a") as file:
            file.write(json.dumps(self.found[cell]) + "\n")
