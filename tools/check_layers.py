#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks the laws of the source tree that a compiler does not know.

  include law   a file of src/<stage>/ includes headers of its own or an earlier stage only; tenon/<stage>.h counts as
                that stage; public headers obey it too; cli/ sees only tenon/*.h and its own headers
  BLAS          cblas.h, lapacke.h and Fortran names (dsytrd_ ...) stand in src/algebra/blas.c only
  seam          blocks of rows are walked in src/learn/design/ and src/learn/linear/svm_*.c only; see design/rows.h
  library       no printing, exiting, aborting, and no malloc or free outside src/base/{alloc,ctx,threads}.c
  files         only base, read, store and report open, read or write files: learners get what they learn from as objects
  options       texts of the library name options without dashes, "option C": the program adds them, others have none
  words         names use no word that the last column of the table "Words" in src/README.md refuses
  length        files <= 600 lines; functions <= 60, those of src/simd <= 100
  marks         an SPDX line at the top; no marks of unfinished work

Usage: check_layers.py [ROOT] | --self-test        Prints FILE:LINE: sentence; exit 1 when there is one.
"""
import pathlib
import re
import sys
import tempfile

STAGES = ["base", "simd", "algebra", "matrix", "read", "describe", "encode", "transform", "learn", "select", "transfer",
          "evaluate", "store", "report", "pipeline"]
FILE_LINES, FUNCTION_LINES, SIMD_LINES = 600, 60, 100
RAW_MEMORY = {"src/base/alloc.c", "src/base/ctx.c", "src/base/threads.c"}

INCLUDE = re.compile(r'\s*#\s*include\s+[<"]([^>"]+)[>"]')
BLAS_HEADER = re.compile(r"(cblas|lapacke?|openblas_config|f77blas)\w*\.h$")
BLAS_NAME = re.compile(r"\b(?:cblas_\w+|LAPACKE_\w+|openblas_\w+|[sd](?:sy|or|po|ge|st|tr|pt|la)[a-z0-9]{2,4}_)\s*\(")
TALKS = re.compile(r"(?<![\w.>])(?:printf|fprintf|puts|putchar|perror|exit|_exit|abort)\s*\(")
MEMORY = re.compile(r"(?<![\w.>])(?:malloc|calloc|realloc|strdup|strndup|posix_memalign|aligned_alloc|free)\s*\(")
FILES = re.compile(r"\b(?:tnp_(?:file|output)_\w+|tnp_bytes_read|tnp_text_save|tnp_features_open_path|"
                   r"tn_(?:features|labels|class_names)_open\w*)\s*\(")
FILE_STAGES = {"base", "read", "store", "report"}
BLOCKS = re.compile(r"\btnp_design_(?:block|runs)\s*\(")
WALKS_BLOCKS = re.compile(r"src/learn/(?:design/|linear/svm_)")
COMMENT_OR_TEXT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)
DASHES = re.compile(r"--[A-Za-z%][\w-]*")
NAME = re.compile(r"\b[A-Za-z_]\w*")
UNFINISHED = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b|^\s*#\s*if\s+0\b")


def stage_of(path):
    """Stage of a source or public header, None outside the law."""
    parts = path.parts
    if parts[0] == "src" and len(parts) > 2:
        return parts[1]
    if parts[:2] == ("include", "tenon"):
        return path.stem if path.stem in STAGES else None
    return None


def stage_of_include(name):
    head, _, rest = name.partition("/")
    if head == "tenon":
        stem = rest.removesuffix(".h")
        return stem if stem in STAGES else None
    return head if rest and head in STAGES else None


def blank_comments_and_strings(text):
    """Same text, same lines, with the contents of comments and literals replaced by spaces."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group())
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)


def check_includes(path, lines):
    stage = stage_of(path)
    if stage is not None and stage not in STAGES:
        yield 1, f"src/{stage}/ is no stage; stages are {', '.join(STAGES)}"
        return
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        name = match.group(1)
        other = stage_of_include(name)
        if path.parts[0] == "cli" and "/" in name and not name.startswith(("tenon/", "sys/")):
            yield number, f"the program may include only tenon/*.h and its own headers, not {name}"
        if stage and name == "tenon/tenon.h":
            yield number, "the library does not include its umbrella header"
        if stage and other and STAGES.index(other) > STAGES.index(stage):
            yield number, f"stage {stage} may not include {name}: {other} comes later"
        if BLAS_HEADER.search(name) and path.as_posix() != "src/algebra/blas.c":
            yield number, f"only src/algebra/blas.c may include {name}"


def check_calls(path, code):
    if path.parts[0] != "src":
        return
    for number, line in enumerate(code, 1):
        if path.as_posix() != "src/algebra/blas.c" and (match := BLAS_NAME.search(line)):
            yield number, f"only src/algebra/blas.c may call {match.group().rstrip('( ')}"
        if not WALKS_BLOCKS.match(path.as_posix()) and (match := BLOCKS.search(line)):
            yield number, f"rows are asked through learn/design/rows.h, not by {match.group().rstrip('( ')}"
        if match := TALKS.search(line):
            yield number, f"the library does not call {match.group().rstrip('( ')}"
        if path.as_posix() not in RAW_MEMORY and (match := MEMORY.search(line)):
            yield number, f"memory comes from tnp_alloc, not {match.group().rstrip('( ')}"
        if stage_of(path) not in FILE_STAGES and (match := FILES.search(line)):
            yield number, f"only {', '.join(sorted(FILE_STAGES))} may call {match.group().rstrip('( ')}"


def refused_words(root):
    """Words of the last column of the glossary in src/README.md, each with the word that stands for it."""
    glossary, words = root / "src" / "README.md", {}
    if glossary.exists():
        for line in glossary.read_text(encoding="utf-8").partition("## Words")[2].splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if line.startswith("|") and len(cells) == 3:
                words |= {word: cells[0] for word in re.findall(r"`(\w+)`", cells[2])}
    return words


def check_words(path, code, refused):
    if path.parts[0] not in ("src", "include", "cli"):
        return
    for number, line in enumerate(code, 1):
        for name in NAME.findall(line):
            if word := next((w for w in refused if re.search(rf"(?:^|_){w}(?:_|$)", name.lower())), None):
                yield number, f"{name}: the word is {refused[word]}, not {word}"


def check_texts(path, text):
    if path.parts[0] not in ("src", "include"):
        return
    for match in COMMENT_OR_TEXT.finditer(text):
        if match.group().startswith('"') and (option := DASHES.search(match.group())):
            yield text.count("\n", 0, match.start()) + 1, f"the library says option {option.group()[2:]}, without dashes"


def check_lengths(path, lines, code):
    if len(lines) > FILE_LINES:
        yield len(lines), f"{len(lines)} lines, at most {FILE_LINES}"
    most = SIMD_LINES if path.parts[:2] == ("src", "simd") else FUNCTION_LINES
    start = None
    for number, line in enumerate(code, 1):
        if line.startswith("{"):
            start = number
        elif line.startswith("}") and start is not None:
            if number - start - 1 > most:
                yield start, f"function of {number - start - 1} lines, at most {most}"
            start = None


def check_marks(lines):
    if not lines or "SPDX-License-Identifier: BSD-3-Clause" not in "".join(lines[:2]):
        yield 1, "no SPDX line at the top"
    for number, line in enumerate(lines, 1):
        if UNFINISHED.search(line):
            yield number, "mark of unfinished work"


def check_file(root, file, refused):
    path = file.relative_to(root)
    text = file.read_text(encoding="utf-8")
    lines, code = text.splitlines(), blank_comments_and_strings(text).splitlines()
    found = list(check_marks(lines))
    if file.suffix in (".c", ".h"):
        found += [*check_includes(path, lines), *check_calls(path, code), *check_texts(path, text),
                  *check_words(path, code, refused), *check_lengths(path, lines, code)]
    return [f"{path}:{number}: {sentence}" for number, sentence in sorted(found)]


def check_tree(root):
    refused = refused_words(root)
    files = [f for folder in ("include", "src", "cli", "tests", "examples", "bench", "tools", "experiments")
             for f in sorted((root / folder).rglob("*")) if f.suffix in (".c", ".h", ".py", ".sh")]
    return [line for file in files for line in check_file(root, file, refused)], len(files)


SPDX = "/* SPDX-License-Identifier: BSD-3-Clause */\n"
# path, text, part of the sentence expected; None: nothing may be found
CASES = [
    ("src/read/a.c", SPDX + '#include "select/evidence.h"\n', "select comes later"),
    ("src/matrix/a.c", SPDX + '#include "tenon/learn.h"\n', "learn comes later"),
    ("src/learn/a.c", SPDX + '#include "tenon/tenon.h"\n', "umbrella"),
    ("src/odd/a.c", SPDX, "no stage"),
    ("include/tenon/read.h", SPDX + '#include "tenon/select.h"\n', "select comes later"),
    ("src/report/a.c", SPDX + '#include "tenon/pipeline.h"\n', "pipeline comes later"),
    ("src/pipeline/a.c", SPDX + '#include "tenon/tenon.h"\n', "umbrella"),
    ("cli/a.c", SPDX + '#include "base/base.h"\n', "only tenon/*.h"),
    ("src/learn/b.c", SPDX + "#include <cblas.h>\n", "only src/algebra/blas.c may include"),
    ("src/learn/c.c", SPDX + "void f(void)\n{\n    dsytrd_(0);\n}\n", "only src/algebra/blas.c may call dsytrd_"),
    ("src/learn/linear/a.c", SPDX + "void f(void)\n{\n    tnp_design_block(0);\n}\n", "not by tnp_design_block"),
    ("src/learn/d.c", SPDX + "void f(void)\n{\n    printf(0);\n}\n", "does not call printf"),
    ("src/learn/e.c", SPDX + "void f(void)\n{\n    abort();\n}\n", "does not call abort"),
    ("src/learn/f.c", SPDX + "void f(void *p)\n{\n    free(p);\n}\n", "not free"),
    ("src/learn/f2.c", SPDX + "void f(void)\n{\n    tn_features_open(0);\n}\n", "report, store may call tn_features_open"),
    ("src/select/f3.c", SPDX + "void f(void)\n{\n    tnp_output_write(0);\n}\n", "may call tnp_output_write"),
    ("src/store/f4.c", SPDX + "void f(void)\n{\n    tnp_output_write(0);\n}\n", None),
    ("src/learn/l.c", SPDX + '/* --C */\nconst char *t = "expected --C yes";\n', "says option C, without dashes"),
    ("src/learn/m.c", SPDX + '/* "--C" */\nconst char *t = "option C, a -- b";\n', None),
    ("src/learn/n.c", SPDX + "int old_room;\n", "the word is capacity, not room"),
    ("src/learn/o.c", SPDX + "int rooms; /* room */\n", None),
    ("src/learn/g.c", SPDX + "int x;\n" * 600, "601 lines"),
    ("src/learn/h.c", SPDX + "void f(void)\n{\n" + "    x();\n" * 61 + "}\n", "function of 61 lines"),
    ("src/simd/h.c", SPDX + "void f(void)\n{\n" + "    x();\n" * 101 + "}\n", "function of 101 lines"),
    ("src/learn/i.c", "int x;\n", "no SPDX"),
    ("src/learn/j.c", SPDX + "/* TO" + "DO */\n", "unfinished"),
    ("src/learn/k.c", SPDX + '#include "base/base.h"\n#include "tenon/learn.h"\n/* free(p) */\nvoid f(void)\n{\n'
     + '    tnp_free("printf(");\n    o->free(p);\n' + "    x();\n" * 58 + "}\n", None),
    ("src/learn/linear/svm_rows.c", SPDX + "void f(void)\n{\n    tnp_design_block(0);\n}\n", None),
    ("src/simd/k.c", SPDX + "void f(void)\n{\n" + "    x();\n" * 100 + "}\n", None),
    ("src/algebra/blas.c", SPDX + "#include <cblas.h>\nvoid f(void)\n{\n    cblas_sgemm(0);\n}\n", None),
    ("src/pipeline/k.c", SPDX + '#include "report/text.h"\n', None),
    ("cli/k.c", SPDX + '#include "tenon/tenon.h"\n#include "args.h"\n#include <sys/stat.h>\n', None),
]


def self_test():
    bad = 0
    for name, text, expected in CASES:
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / name
            file.parent.mkdir(parents=True)
            file.write_text(text, encoding="utf-8")
            glossary = pathlib.Path(folder) / "src" / "README.md"
            glossary.parent.mkdir(exist_ok=True)
            glossary.write_text("## Words\n| capacity | elements | `room` |\n", encoding="utf-8")
            found, _ = check_tree(pathlib.Path(folder))
        fine = not found if expected is None else len(found) == 1 and expected in found[0]
        if not fine:
            bad += 1
            print(f"{name}: expected {expected!r}, found {found}")
    print(f"{len(CASES) - bad} of {len(CASES)} cases as expected")
    return bad != 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    root = pathlib.Path(arguments[0] if arguments else pathlib.Path(__file__).resolve().parent.parent)
    found, count = check_tree(root)
    print("\n".join(found) if found else f"{count} files obey")
    return bool(found) or count == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
