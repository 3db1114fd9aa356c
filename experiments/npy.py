# SPDX-License-Identifier: BSD-3-Clause
"""Reads and writes .npy files of version 1 in C order, so that experiments need nothing beside Python itself."""
import array
import ast
import struct


def read(path):
    """(header, bytes of a row, values)"""
    data = path.read_bytes()
    start = 10 + struct.unpack("<H", data[8:10])[0]
    header = ast.literal_eval(data[10:start].decode("latin-1"))
    return header, (len(data) - start) // header["shape"][0], data[start:]


def start(header):
    """The bytes before the values, which begin at a multiple of 64."""
    words = repr(header).encode()
    words += b" " * (-(10 + len(words) + 1) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(words)) + words


def write(path, source, rows):
    """Some rows of what read() gave."""
    header, size, values = source
    with open(path, "wb") as file:
        file.write(start(header | {"shape": (len(rows), *header["shape"][1:])}))
        for row in rows:
            file.write(values[row * size:(row + 1) * size])


def read_numbers(path):
    """(shape, values as an array) of int64 or float32."""
    header, _, values = read(path)
    return header["shape"], array.array({"<i8": "q", "<f4": "f"}[header["descr"]], values)


def write_floats(path, rows):
    """rows: sequences of numbers, all of one length."""
    with open(path, "wb") as file:
        file.write(start({"descr": "<f4", "fortran_order": False, "shape": (len(rows), len(rows[0]))}))
        for row in rows:
            array.array("f", row).tofile(file)
