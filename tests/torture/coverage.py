#!/usr/bin/env python3
"""coverage.py [--build DIR] [--files N]: how much of the readers the fuzz campaign reaches, by llvm-cov.

The sources of src/io and those that read models and checkpoints are compiled once more by clang with counters, and linked with the rest of the release
build (DIR). Then N damaged files (2000) go through that program, as `torture.py fuzz` does it. Prints lines and branches reached for each source, and writes
DIR/torture/coverage/lines.txt, in which every line has its count. Code that only writes files counts, too."""
import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ALSO = ("src/model/model_file.c", "src/train/checkpoint.c")


def compile_readers(build, out):
    """Objects with counters; the names of those that they replace."""
    objects, replaced = [], []
    for row in json.loads((build / "compile_commands.json").read_text()):
        source = row["file"].removeprefix("../")
        if not row["output"].startswith("libcomp.so") or not (source.startswith("src/io/") or source in ALSO):
            continue
        words = [w for w in shlex.split(row["command"]) if w not in ("ccache", "-fopenmp", "-O3", "-Wno-format-truncation")][1:]
        for flag in ("-MQ", "-MF", "-o"):
            at = words.index(flag)
            del words[at : at + 2]
        words.remove("-MD")
        target = out / Path(row["output"]).name
        subprocess.run(["clang", *words, "-w", "-O1", "-g", "-fprofile-instr-generate", "-fcoverage-mapping", "-o", str(target)], cwd=build, check=True)
        objects.append(str(target))
        replaced.append(target.name)
    return objects, replaced


def link(build, out, objects, replaced):
    command = subprocess.run(["ninja", "-t", "commands", "comp"], cwd=build, check=True, capture_output=True, text=True).stdout.splitlines()[-1]
    words = [w for w in shlex.split(command) if Path(w).name not in replaced]
    words[words.index("comp")] = str(out / "comp")
    if not any(w.startswith("libcomp.so.0") and w.endswith(".o") for w in words):  # objects come in an archive
        archive = out / "libcomp.a"
        subprocess.run(["ar", "rcs", str(archive), *(str(p) for p in (build).glob("libcomp.so.*.p/*.o") if p.name not in replaced)], check=True)
        words[words.index("libcomp.a")] = str(archive)
    runtime = subprocess.run(["clang", "--print-file-name=libclang_rt.profile-x86_64.a"], capture_output=True, text=True).stdout.strip()
    at = words.index("-o")  # objects come before libraries
    words[at:at] = objects
    subprocess.run([*words, "-rdynamic", "-Wl,-u,__llvm_profile_runtime", runtime], cwd=build, check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=HERE.parent.parent / "build")
    parser.add_argument("--files", type=int, default=2000)
    o = parser.parse_args()
    build = o.build.resolve()
    out = build / "torture" / "coverage"
    shutil.rmtree(out, ignore_errors=True)
    (out / "tests" / "torture").mkdir(parents=True)
    (out / "src").mkdir()
    link(build, out, *compile_readers(build, out))
    (out / "src" / "modules").symlink_to(build / "src" / "modules")
    shutil.copy(build / "tests" / "torture" / "inject.so", out / "tests" / "torture")
    env = dict(os.environ, LLVM_PROFILE_FILE=str(out / "%m.profraw"))
    subprocess.run([sys.executable, str(HERE / "torture.py"), "fuzz", "--build", str(out), "--files", str(o.files), "--seconds", "1000000"], env=env)  # it reports failures itself
    profiles = [str(p) for p in out.glob("*.profraw")]
    subprocess.run(["llvm-profdata", "merge", "-sparse", "-o", str(out / "all.profdata"), *profiles], check=True)
    where = [str(out / "comp"), f"-instr-profile={out / 'all.profdata'}"]
    with open(out / "lines.txt", "w") as file:
        subprocess.run(["llvm-cov", "show", *where], stdout=file, cwd=build, check=True)
    data = json.loads(subprocess.run(["llvm-cov", "export", "-summary-only", *where], cwd=build, check=True, capture_output=True, text=True).stdout)["data"][0]
    rows = [(f["filename"].split("/src/")[-1], f["summary"]) for f in data["files"] if "/src/" in f["filename"]] + [("all", data["totals"])]
    print("source  lines  reached  branches  reached")
    for name, s in rows:
        print(f"{name}  {s['lines']['count']}  {s['lines']['percent']:.1f} %  {s['branches']['count']}  {s['branches']['percent']:.1f} %")


main()
