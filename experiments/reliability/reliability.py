# SPDX-License-Identifier: BSD-3-Clause
"""The parts of experiments/reliability/run. Each leaves what it found in build/reliability/ (--work), so that they may run on different
days; the page is made of all that is there.

The program is build/tenon, or $TENON; the fuzz targets are those of build-fuzz, which is built when it is missing.
"""
import argparse
import concurrent.futures
import json
import multiprocessing
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import checks
import common
import page
import problems
import reference

WORK = common.ROOT / "build" / "reliability"
PARTS = ("problems", "fuzz", "torture", "page")
SHOWN_FAILURES = 40


def arguments(words):
    parser = argparse.ArgumentParser(prog="experiments/reliability/run", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help=f"of {', '.join(PARTS)}; all of them without any")
    parser.add_argument("--count", type=int, default=10000, help="problems")
    parser.add_argument("--first", type=int, default=0, help="seed of the first problem")
    parser.add_argument("--only", type=int, help="only the problem of this seed, told at length")
    parser.add_argument("--minutes", type=float, default=10, help="of every fuzz target, and of the torture run")
    parser.add_argument("--targets", type=lambda text: text.split(","), help="fuzz only these, joined by commas")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="how much is done at once")
    parser.add_argument("--work", type=pathlib.Path, default=WORK, help="where the parts leave what they found")
    parser.add_argument("--output", type=pathlib.Path, default=common.ROOT / "docs" / "results" / "reliability.md")
    options = parser.parse_args(words)
    options.parts = options.parts or list(PARTS)
    if set(options.parts) - set(PARTS):
        parser.error(f"parts are {', '.join(PARTS)}")
    return options


def keep(work, name, found):
    work.mkdir(parents=True, exist_ok=True)
    (work / f"{name}.json").write_text(json.dumps(found, indent=1), encoding="utf-8")


def kept(work, name):
    file = work / f"{name}.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def revision():
    done = subprocess.run(["git", "-C", str(common.ROOT), "describe", "--always", "--dirty"], capture_output=True, text=True,
                          check=False)
    return done.stdout.strip() or "unknown"


# ---- problems ----

def memory_folder():
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def begin_worker(program, library):
    global runner, scratch
    scratch = tempfile.TemporaryDirectory(dir=memory_folder())
    runner = checks.Runner(program, reference.load_library(library), pathlib.Path(scratch.name))


def one_problem(seed):
    return runner.run(problems.Problem(seed))


def tell(result):
    for failure in result.failures:
        print(f"seed {result.seed}: {failure}\n    {result.about}\n    experiments/reliability/run problems --only {result.seed}",
              flush=True)


def run_problems(options):
    program, start = common.find_program(), time.monotonic()
    seeds = [options.only] if options.only is not None else range(options.first, options.first + options.count)
    table, failed, shown = page.ProblemTable(), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        library = reference.build_library(pathlib.Path(folder))
        with multiprocessing.Pool(options.jobs, begin_worker, (program, library)) as pool:
            for i, result in enumerate(pool.imap_unordered(one_problem, seeds, 4), 1):
                table.add(result)
                failed += bool(result.failures)
                if result.failures and (shown := shown + 1) <= SHOWN_FAILURES:
                    tell(result)
                if options.only is not None:
                    print(json.dumps({"seed": result.seed, "about": result.about, "part_of_what_is_allowed": result.found,
                                      "notes": result.notes}, indent=1))
                elif sys.stderr.isatty():
                    print(f"\r{i} problems, {failed} failed", end="", file=sys.stderr, flush=True)
            pool.close()
            pool.join()
    if options.only is None:
        keep(options.work, "problems", table.found() | {"first": options.first, "count": len(seeds), "failed": failed,
                                          "seconds": time.monotonic() - start, "revision": revision(),
                                          "versions": page.versions(), "doctor": common.call(program, "doctor")})
        print("\n".join(table.lines()))
    print(f"{len(seeds)} problems, {failed} failed, {time.monotonic() - start:.0f} s")
    return failed == 0


# ---- fuzzing ----

def fuzz_one(target, folder, seconds):
    subject = target.name.removeprefix("fuzz_")
    corpus, log = folder / "corpus" / subject, folder / f"{subject}.log"
    corpus.mkdir(parents=True, exist_ok=True)
    line = [str(target), f"-max_total_time={seconds:.0f}", "-rss_limit_mb=2048", "-timeout=20", "-print_final_stats=1",
            f"-seed={page.FUZZ_SEED}", f"-artifact_prefix={folder}/{subject}-", str(corpus),
            str(common.ROOT / "tests" / "fuzz" / "corpus" / subject)]
    with open(log, "w", encoding="utf-8") as out:
        code = subprocess.run(line, stdout=out, stderr=subprocess.STDOUT, check=False).returncode
    text = log.read_text(errors="replace")
    count = re.findall(r"stat::number_of_executed_units:\s*(\d+)", text)
    cover = re.findall(r"cov: (\d+)", text)
    artifact = re.findall(r"Test unit written to (\S+)", text)
    return {"target": subject, "executions": int(count[-1]) if count else 0, "coverage": int(cover[-1]) if cover else 0,
            "findings": int(code != 0), "artifact": artifact[-1] if artifact else None}


def run_fuzz(options):
    build = common.ROOT / "build-fuzz"
    subprocess.run(["cmake", "--preset", "fuzz"], cwd=common.ROOT, stdout=subprocess.DEVNULL, check=True)
    subprocess.run(["cmake", "--build", "--preset", "fuzz", "-j", str(options.jobs)], cwd=common.ROOT, stdout=subprocess.DEVNULL,
                   check=True)
    targets = [path for path in sorted((build / "tests").glob("fuzz_*")) if path.is_file() and path.suffix == ""
               and (options.targets is None or path.name.removeprefix("fuzz_") in options.targets)]
    found = {entry["target"]: entry for entry in kept(options.work, "fuzz").get("targets", [])}  # of other days, until they run again

    def one(target):
        result = fuzz_one(target, build, 60 * options.minutes)
        return {**result, "minutes": options.minutes, "revision": revision()}

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for future in concurrent.futures.as_completed([pool.submit(one, target) for target in targets]):
            result = future.result()
            found[result["target"]] = result
            keep(options.work, "fuzz", {"targets": [found[name] for name in sorted(found)], "versions": page.versions()})
            print(f"fuzz {result['target']}: {result['executions']} executions" + (
                f"; finding: {build}/tests/fuzz_{result['target']} {result['artifact']}" if result["findings"] else ""), flush=True)
    return not any(found[target.name.removeprefix("fuzz_")]["findings"] for target in targets)


# ---- torture ----

def run_torture(options):
    options.work.mkdir(parents=True, exist_ok=True)
    report = options.work / "torture.json"
    code = subprocess.run([str(common.ROOT / "tests" / "torture" / "run"), str(common.find_program()), "--minutes",
                           str(options.minutes), "--jobs", str(options.jobs), "--report", str(report)], check=False).returncode
    if report.is_file():
        keep(options.work, "torture", json.loads(report.read_text()) | {"revision": revision(), "versions": page.versions()})
    return code == 0


# ---- the page ----

def make_page(options):
    found = {name: result for name in PARTS if (result := kept(options.work, name))}
    if not found:
        sys.exit(f"{sys.argv[0]}: nothing in {options.work}: run the parts first")
    options.output.write_text(page.render(found), encoding="utf-8")
    print(f"written: {options.output}")
    return True


def main(words):
    options = arguments(words)
    work = {"problems": run_problems, "fuzz": run_fuzz, "torture": run_torture, "page": make_page}
    fine = [work[part](options) for part in PARTS if part in options.parts]
    sys.exit(0 if all(fine) else 1)


if __name__ == "__main__":
    main(sys.argv[1:])
