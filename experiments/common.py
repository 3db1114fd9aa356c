# SPDX-License-Identifier: BSD-3-Clause
"""What all experiments share: their command line, how the program is asked, words and tables of their pages."""
import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
LIMIT_SECONDS = 300
NORMAL = 1.959963984540054  # the normal distribution's quantile at 97.5 %


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
    """A page of everything goes to its place; one of a part to standard output, unless told where. The picture's
    figures, as pictures.py wants them, go into data/ beside it, and are drawn."""
    target = options.output or (options.page if options.whole else None)
    if target is None:
        print(text)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    print(f"written: {target}")
    if picture:
        write_picture(target, picture)


def write_picture(page, picture):
    """Beside a page, of its name."""
    data = page.parent / "data" / f"{page.stem}.json"
    data.parent.mkdir(parents=True, exist_ok=True)
    data.write_text(picture_text(picture), encoding="utf-8")
    draw(data)


def picture_text(picture):
    """JSON with a line for every series, so that a change can be read."""
    rows = ",\n".join("  [\n" + ",\n".join(map(panel_text, row)) + "\n  ]" for row in picture["rows"])
    first = "".join(f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)},\n " for key, value in picture.items()
                    if key != "rows")
    return "{" + first + f'"rows": [\n{rows}\n ]}}\n'


def panel_text(panel):
    if panel is None:
        return "   null"
    first = "".join(f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}, " for key, value in panel.items()
                    if key != "series")
    series = ",\n".join(f"     {json.dumps(one, ensure_ascii=False)}" for one in panel["series"])
    return "   {" + first.rstrip() + f'\n    "series": [\n{series}\n    ]}}'


def draw(data):
    """By the first Python that has matplotlib; the one that runs this may have none."""
    for python in dict.fromkeys((sys.executable, "python3", "/usr/bin/python3")):
        asked = [python, "-c", "import matplotlib"]
        if shutil.which(python) and subprocess.run(asked, stderr=subprocess.DEVNULL, check=False).returncode == 0:
            subprocess.run([python, ROOT / "experiments" / "pictures.py", data], check=True)
            return
    print("no picture: no python3 with matplotlib; see tools/install_deps.sh bench", file=sys.stderr)


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


def in_parallel(what, jobs, work, done=lambda job, result: None):
    """As many at once as there are cores, every one in a folder of its own; done is called here, one after the other."""
    def one(job):
        with tempfile.TemporaryDirectory() as scratch:
            return work(job, pathlib.Path(scratch))

    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        futures = {pool.submit(one, job): job for job in jobs}
        try:
            for i, future in enumerate(concurrent.futures.as_completed(futures), 1):
                done(futures[future], future.result())
                if sys.stderr.isatty() or i == len(jobs):
                    print(f"\r{i} of {len(jobs)} {what}", end="", file=sys.stderr, flush=True)
        finally:
            pool.shutdown(cancel_futures=True)
    print(file=sys.stderr)


def networks(folder, wanted=None):
    """Representations of a set, by name; *_scores are the outputs of classifiers, sources for transfer."""
    names = [path.name.split(".")[0] for path in sorted(folder.glob("*.train.npy"))]
    return [name for name in names if name != "labels" and not name.endswith("_scores")
            and (folder / f"{name}.test.npy").is_file() and (wanted is None or name in wanted)]


def test_score(tested):
    """Percent: accuracy, or for multi-label mean average precision, of what eval said."""
    return 100 * tested["metrics"]["mean_ap" if tested["task"] == "multilabel" else "accuracy"]


# ---- figures ----

def quantile(freedom):
    """Of Student's t at 97.5 %, by its expansion in 1/freedom: 0.3 % off at 4, less above."""
    z = NORMAL
    terms = ((z ** 3 + z) / 4, (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96,
             (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384)
    return z + sum(term / freedom ** power for power, term in enumerate(terms, 1))


def interval(values):
    """(mean, half the width)"""
    if len(values) < 2:
        return statistics.fmean(values), math.nan
    return statistics.fmean(values), quantile(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))


def barred(x, mean, half):
    """A point of a picture; one value alone has no interval, and no error bar."""
    return [x, round(mean, 2)] if math.isnan(half) else [x, round(mean, 2), round(half, 2)]


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


def answer_lines(found, said):
    """The first lines of a page: what came out, and how surely. found: as in claim_lines; said: {the first words of a
    claim: what to say of it}."""
    lines = [f"- {words}: **{holds}** ({figures})." for beginning, words in said.items()
             for claim, holds, figures, _ in found if claim.startswith(beginning)]
    return [*lines, ""]


def claim_lines(title, found):
    """found: [(claim, does it hold, figures, sentences)]"""
    lines = [title, "", *table(["claim", "holds here?", "figures"], [row[:3] for row in found])]
    for claim, _, _, sentences in found:
        if sentences:
            lines += [f"**{claim}.**", ""] + [f"- {sentence}" for sentence in sentences] + [""]
    return lines
