# SPDX-License-Identifier: BSD-3-Clause
"""The section on networks, against onnxruntime-node at the best of its settings: pictures per second of tenon extract --net,
from JPEG to rows, beside a program for node that decodes with sharp; runs of the network alone (those that --views ten has more
of than --views centre) beside runs on tensors that are there; and memory against the number of pictures.

Networks and photographs are those of ../shared; without them drawn pictures and small networks take their place."""
import json
import os
import resource
import shutil
import subprocess
import sys

import networks_report as report
from measure import HERE, Skipped, ask, cached, measure

PAGE = "bench-networks.md"
ROOT = HERE.parent
DATA = ROOT.parent / "shared" / "data"
PICTURES = {"full": 720, "quick": 96, "tiny": 12}
ROUNDS = {"full": 2, "quick": 2, "tiny": 1}
SETTINGS = [(threads, together, batch) for threads in (1, 2) for together in (1, 2) for batch in (1, 8)]
WHOLE_SETTINGS = [(1, 2, 1), (1, 4, 1), (2, 2, 8), (2, 4, 8)]  # decoding fills what runs leave free
LIMIT = 600


def inputs(directory, size):
    """(paths of pictures, models with the side that they see, what they are)"""
    photos = sorted((DATA / "images" / "flowers12" / "train").glob("*/*.jpg"))
    if photos and size != "tiny":
        models = [(path, 224) for path in sorted((DATA / "networks").glob("*.onnx"))]
        return photos[:PICTURES[size]], models, "photographs of flowers12 (224 x 224)"
    drawn = directory / "drawn"
    subprocess.run([sys.executable, ROOT / "tools" / "draw_pictures.py", drawn, "--train", str(PICTURES[size] // 6)], check=True)
    return sorted((drawn / "train").glob("*/*.png")), [(drawn / "texture.onnx", 64)], "drawn pictures of 64 x 64"


def list_of(directory, name, paths):
    file = directory / name
    file.write_text("".join(f"{path}\n" for path in paths))
    return file


def ours(program, environment, directory, pictures, model, watch, views="centre"):
    command = [program, "extract", pictures, "--net", model, "-o", directory / "rows.npy", "--json", "--views", views]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds, memory, found = measure(command, environment, directory, LIMIT, watch)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"seconds": seconds, "pictures": found["rows"], "anon_mb": memory,
            "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}


def theirs(environment, modules, model, side, runs, setting, *pictures):
    command = ["node", HERE / "networks_peer.cjs", modules, model, str(side), str(runs), *map(str, setting), *pictures]
    return json.loads(ask(command, environment)) | {"setting": setting}


def runs_alone(one, ten):
    """The nine runs per picture that ten views take more than one: no decoding, no start."""
    return {"seconds": max(ten["seconds"] - one["seconds"], 1e-9), "pictures": 9 * one["pictures"], "cpu": ten["cpu"] - one["cpu"]}


def better(a, b):
    return a if b is None or a["pictures"] / a["seconds"] > b["pictures"] / b["seconds"] else b


def contest(program, environment, modules, directory, pictures, model, side, rounds, count):
    """The best of some rounds of each, taking turns; theirs at the best of all settings."""
    found = {"model": model.stem, "ours": None, "alone": None, "theirs": None, "theirs_whole": None}
    for _ in range(rounds):
        one, ten = (ours(program, environment, directory, pictures, model, False, views) for views in ("centre", "ten"))
        found["ours"] = better(one, found["ours"])
        found["alone"] = better(runs_alone(one, ten), found["alone"])
        for setting in SETTINGS:
            found["theirs"] = better(theirs(environment, modules, model, side, count // 2, setting), found["theirs"])
        for setting in WHOLE_SETTINGS if (modules / "sharp").is_dir() else []:
            whole = theirs(environment, modules, model, side, count, setting, pictures)
            found["theirs_whole"] = better(whole, found["theirs_whole"])
    report.print_entry(found)
    return found


def run(program, environment, directory, size):
    modules = ROOT / "build" / "net" / "node_modules"
    if not shutil.which("node") or not (modules / "onnxruntime-node").is_dir():
        raise Skipped("node or onnxruntime-node is not installed; tools/install_deps.sh net")
    if not (modules / "sharp").is_dir():
        print("  without sharp (tools/install_deps.sh bench): no peer that decodes")
    environment = environment | {"TENON_ONNXRUNTIME": ask([ROOT / "tools" / "install_deps.sh", "net"]).strip()}
    paths, models, what = inputs(directory, size)
    for path in paths:
        cached(path)
    every, few = list_of(directory, "all.txt", paths), list_of(directory, "few.txt", paths[:max(1, len(paths) // 4)])
    entries = [contest(program, environment, modules, directory, every, model, side, ROUNDS[size], len(paths))
               for model, side in models]
    memory = [ours(program, environment, directory, pictures, models[0][0], True) for pictures in (few, every)]
    found = {"entries": entries, "memory": memory, "what": what, "threads": os.cpu_count(), "count": len(paths),
             "engine": json.loads(ask([program, "doctor", "--json"], environment))["onnxruntime"]}
    report.print_targets(found)
    return found
