# SPDX-License-Identifier: BSD-3-Clause
"""What all experiments share: their command line, how the program is asked, words and tables of their pages."""
import argparse
import json
import os
import pathlib
import platform
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
LIMIT_SECONDS = 300


# ---- the command line ----

def arguments(name, about, sets, words, more=None):
    """data, sets, networks, output, and more: {option: keywords of add_argument}; name is the experiment's folder."""
    parser = argparse.ArgumentParser(prog=f"experiments/{name}/run", description=about)
    parser.add_argument("data", nargs="?", type=pathlib.Path, default=ROOT.parent / "shared" / "data",
                        help="folder with features/SET/*.npy; default: shared/data beside the repository")
    parser.add_argument("--sets", type=lambda text: text.split(","), default=sets, help="only these, joined by commas")
    parser.add_argument("--networks", type=lambda text: text.split(","), help="only these, joined by commas")
    parser.add_argument("--output", type=pathlib.Path, help="where the page goes")
    for option, keywords in (more or {}).items():
        parser.add_argument(option, **keywords)
    options = parser.parse_args(words)
    if set(options.sets) - set(sets):
        parser.error(f"--sets knows {', '.join(sets)}")
    options.whole = options.sets == sets and options.networks is None
    options.page = ROOT / "docs" / "results" / f"{name}.md"
    return options


def find_data(options):
    """Folder of the features; ends with 77 when a set is not there."""
    features = options.data / "features"
    missing = [name for name in options.sets if not (features / name / "labels.train.npy").is_file()]
    if missing:
        print(f"skipped: no {', '.join(missing)} under {features}", file=sys.stderr)
        sys.exit(77)
    return features


def find_program():
    program = pathlib.Path(os.environ.get("TENON", ROOT / "build" / "tenon"))
    if not program.is_file():
        sys.exit(f"{sys.argv[0]}: {program} is not there: run make first, or set TENON")
    return program


def write(text, options, picture=None):
    """A page of everything goes to its place; one of a part to standard output, unless told where. The picture, SVG, goes
    beside it."""
    target = options.output or (options.page if options.whole else None)
    if target is None:
        print(text)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    if picture:
        target.with_suffix(".svg").write_text(picture, encoding="utf-8")
    print(f"written: {target}")


# ---- the program ----

def call(program, *words):
    """One run of the program, its JSON parsed."""
    try:
        done = subprocess.run([str(program), *map(str, words), "--json", "--quiet"], stdout=subprocess.PIPE,
                              check=False, timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        sys.exit(f"{sys.argv[0]}: tenon {words[0]} took more than {LIMIT_SECONDS} s")
    if done.returncode != 0:
        sys.exit(f"{sys.argv[0]}: tenon {words[0]} ended with {done.returncode}")
    return json.loads(done.stdout)


def networks(folder, wanted=None):
    """Representations of a set, by name; *_scores are the outputs of classifiers, sources for transfer."""
    names = [path.name.split(".")[0] for path in sorted(folder.glob("*.train.npy"))]
    return [name for name in names if name != "labels" and not name.endswith("_scores")
            and (folder / f"{name}.test.npy").is_file() and (wanted is None or name in wanted)]


def test_score(tested):
    """Percent: accuracy, or for multi-label mean average precision, of what eval said."""
    return 100 * tested["metrics"]["mean_ap" if tested["task"] == "multilabel" else "accuracy"]


# ---- the page ----

def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows] + [""]


def metric(study):
    return "mean AP" if study["task"] == "multilabel" else "accuracy"


def machine_lines(doctor, seeds):
    return [f"- Machine: {doctor['cpu']}, {doctor['cores']} cores, {doctor['threads']} threads; SIMD {doctor['simd']}; "
            f"BLAS {doctor['blas']}, kernels {doctor['blas_kernels']} (chosen by {doctor['blas_kernels_chosen_by']}).",
            f"- Versions: tenon {doctor['version']}, Python {platform.python_version()} (orchestration only). {seeds}."]


def in_words(hits, count):
    """Whether a claim holds, from how many of the cases agree with it."""
    if hits == count:
        return f"yes, {hits} of {count}"
    return f"{'no' if hits == 0 else 'mostly' if 2 * hits > count else 'mostly not'}, {hits} of {count}"


def claim_lines(title, found):
    """found: [(claim, does it hold, figures, sentences)]"""
    lines = [title, "", *table(["claim", "holds here?", "figures"], [row[:3] for row in found])]
    for claim, _, _, sentences in found:
        if sentences:
            lines += [f"**{claim}.**", ""] + [f"- {sentence}" for sentence in sentences] + [""]
    return lines
