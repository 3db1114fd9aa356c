# SPDX-License-Identifier: BSD-3-Clause
"""Learns kernels, cuts them to ranks and compares them. Files stay in the work folder, one a kernel and one a map.

A kernel file holds all eigenvectors P (`vectors`) and singular values s beside W = P_K diag(s_K)^p (`weight`): another rank
or power is another `weight`, the same as learning with these options would give.
"""
import array
import json
import os

import protocol
from common import call
from protocol import Kernel, Map


def path(work, one):
    return work / f"{one}.safetensors"


def learn(program, kernel, features, sets, work):
    """Unless it is there. Alone on the machine, with all its threads: the seconds are part of the page."""
    facts = path(work, kernel).with_suffix(".json")
    if not facts.is_file():
        data = [word for name in protocol.learned_on(kernel, sets)
                for word in ("--data", f"{name}={features / name / kernel.network}.train.npy",
                             features / name / "labels.train.npy")]
        said = call(program, "kernel", "learn", *data, "--basis", kernel.basis, "-o", path(work, kernel))
        beside = facts.with_suffix(".new")
        beside.write_text(json.dumps(said))
        os.replace(beside, facts)
    return json.loads(facts.read_text())


def read(file):
    """(header, bytes of the tensors)"""
    data = file.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    return json.loads(data[8:start]), data[start:]


def tensor(header, data, name):
    begin, end = header[name]["data_offsets"]
    return array.array("d", data[begin:end])


def cut(one, learned, work):
    """The file of a Map, made from that of its kernel unless it is there."""
    file = path(work, one)
    if file.is_file():
        return file
    header, data = read(path(work, one.kernel))
    factors = [value ** one.power for value in tensor(header, data, "singular_values")[:one.rank]]
    vectors = tensor(header, data, "vectors")
    weight = array.array("d", (vectors[protocol.FUNCTIONS * m + k] * factor for m in range(protocol.FUNCTIONS)
                               for k, factor in enumerate(factors)))
    tensors = {name: data[slice(*facts["data_offsets"])] for name, facts in header.items() if name != "__metadata__"}
    header["weight"]["shape"] = [protocol.FUNCTIONS, one.rank]
    header["__metadata__"]["power"] = repr(one.power)
    if one.scaled:
        header["__metadata__"]["scale"] = repr(learned[Kernel(one.scaled)]["scale"])
    return write(file, header, tensors | {"weight": weight.tobytes()})


def write(file, header, tensors):
    at = 0
    for name, values in tensors.items():
        header[name]["data_offsets"] = [at, at + len(values)]
        at += len(values)
    words = json.dumps(header).encode()
    words += b" " * (-len(words) % 8)
    beside = file.with_suffix(".new")
    beside.write_bytes(len(words).to_bytes(8, "little") + words + b"".join(tensors.values()))
    os.replace(beside, file)
    return file


def compare(program, maps, learned, work):
    return call(program, "kernel", "compare", *(cut(one, learned, work) for one in maps))["cosine"]


def likeness(program, sets, learned, work):
    """Matrices of cosines: "sets" {(network, rank)}: kernels without one of the sets, then that of all; "alone" {network}:
    kernels of one set each, then that of all, at RANK; "networks": kernels of all networks, at RANK."""
    found = {"sets": {}, "alone": {}}
    for network, names in sets.items():
        if len(names) < 2:
            continue
        words = [*map(protocol.without, names), protocol.ALL]
        for rank in protocol.RANKS:
            maps = [Map(Kernel(network, word), rank) for word in words]
            found["sets"][network, rank] = compare(program, maps, learned, work)
        maps = [Map(Kernel(network, word)) for word in (*names, protocol.ALL)]
        found["alone"][network] = compare(program, maps, learned, work)
    maps = [Map(Kernel(network)) for network in sets]
    return found | {"networks": compare(program, maps, learned, work) if len(maps) > 1 else []}
