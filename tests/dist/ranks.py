"""ranks.py COMP [TEST ...]: `comp train` and other commands over the ranks of mpirun: the bytes of one process, a rank that is killed, and what ranks that do not fit say. Speaks TAP."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

COMP = os.path.abspath(sys.argv[1])
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe"]
ENVIRONMENT = {**os.environ, "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_odls_base_sigkill_timeout": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
               "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}  # Open MPI itself leaks
PATIENT = {**ENVIRONMENT, "OMPI_MCA_odls_base_sigkill_timeout": "30"}  # rank 0 saves its state after another rank died
NETWORK = ["-i", "ready.h5ad", "-c", "condition", "--hidden", "8", "--latent", "2", "--batch", "64"]
count = 0


def check(good, name, more=""):
    global count, failed
    count += 1
    print(("ok" if good else "not ok"), count, "-", name, flush=True)
    if not good:
        failed = True
        print("\n".join("# " + line for line in str(more).splitlines()[-30:]), flush=True)


def run(*command):
    return subprocess.run(command, cwd=folder.name, env=ENVIRONMENT, capture_output=True, text=True, stdin=subprocess.DEVNULL)


def comp(*arguments):
    return run(COMP, *arguments)


def over(ranks, *arguments):
    return run(*MPIRUN, "-n", str(ranks), COMP, *arguments)


def train(output, *more):
    return ["train", *NETWORK, "-o", output, *more]


def content(name):
    with open(os.path.join(folder.name, name), "rb") as file:
        return file.read()


def same(first, second):
    try:
        return content(first) == content(second)
    except OSError:
        return False


def rank_process(launcher, rank):
    """The process of a rank, by what the launcher put into its environment."""
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat") as file:
                parent = int(file.read().rpartition(")")[2].split()[1])
            with open(f"/proc/{name}/environ", "rb") as file:
                if parent == launcher and f"OMPI_COMM_WORLD_RANK={rank}".encode() in file.read().split(b"\0"):
                    return int(name)
        except OSError:
            pass
    return None


def kill_one(ranks, victim, command):
    """Starts a training and kills one rank after its first epoch. The launcher's exit code, and what was said."""
    log = os.path.join(folder.name, "killed.log")
    launcher = subprocess.Popen([*MPIRUN, "-n", str(ranks), COMP, *command, "--log", "killed.log"], cwd=folder.name, env=PATIENT,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True)
    while launcher.poll() is None and not (os.path.exists(log) and os.path.getsize(log) > 0):
        time.sleep(0.002)
    process = rank_process(launcher.pid, victim)
    if process:
        os.kill(process, signal.SIGKILL)
    said, _ = launcher.communicate(timeout=240)
    return launcher.returncode, said


def test_bytes():
    one = comp(*train("one.comp", "--epochs", "2", "--shards", "8", "--threads", "1"))
    check(one.returncode == 0, "8 shards in one process", one.stderr)
    two = comp(*train("threads.comp", "--epochs", "2", "--shards", "8", "--threads", "2"))
    check(same("one.comp", "threads.comp"), "the same bytes with 2 threads", two.stderr)
    for ranks in (2, 4, 8):
        done = over(ranks, *train(f"ranks{ranks}.comp", "--epochs", "2", "--threads", "1"))
        check(same("one.comp", f"ranks{ranks}.comp"), f"the same bytes with {ranks} ranks", done.stderr)
    done = comp(*train("launched.comp", "--epochs", "2", "--ranks", "2"))
    check(done.returncode == 0 and same("one.comp", "launched.comp"), "the same bytes with --ranks 2", done.stderr)
    check(done.stderr.count("done in ") == 1 and done.stderr.count("is cut into 8 shards, shared out to 2 processes") == 1,
          "rank 0 speaks for all", done.stderr)
    again = comp("train", "-i", "counts.h5ad", "-c", "condition", "-o", "counts1.comp", "--hidden", "8", "--latent", "2", "--likelihood", "nb",
                 "--learn-scale", "--epochs", "1", "--shards", "4")
    done = over(4, "train", "-i", "counts.h5ad", "-c", "condition", "-o", "counts4.comp", "--hidden", "8", "--latent", "2", "--likelihood", "nb",
                "--learn-scale", "--epochs", "1", "--shards", "4", "--threads", "1", "--memory", "64M")
    check(again.returncode == 0 and same("counts1.comp", "counts4.comp"), "counts, learned scales: the same bytes from disk with 4 ranks", done.stderr)


def read_bytes(ranks, *arguments):
    """What each process read (rchar of Linux), in a command over ranks: the shell counts what its children did."""
    script = '"$@" >&2; code=$?; while read name value; do [ "$name" = rchar: ] && echo "$value"; done < /proc/$$/io; exit $code'
    command = ["sh", "-c", script, "sh", COMP, *arguments]
    done = run(*command) if ranks == 1 else run(*MPIRUN, "-n", str(ranks), *command)
    return [int(line) for line in done.stdout.split()], done


# Of what one process reads. All ranks read names, tables and the first rows, and the loader reads libraries (more of them with sanitizers).
MOST_READ = 0.9


def test_disk():
    """Several windows: ranks read parts of them."""
    wide = ["train", "-i", "wide.h5ad", "-c", "condition", "--hidden", "8", "--latent", "2", "--batch", "2000", "--epochs", "2", "--shards", "8",
            "--align", "all", "--no-centre"]
    windows = [*wide, "--memory", "16M"]
    one_reads, one = read_bytes(1, *windows, "-o", "disk.comp", "--threads", "1")
    check(one.returncode == 0 and "streaming: 2 windows" in one.stderr, "from disk, in two windows", one.stderr)
    two = comp(*windows, "-o", "disk_threads.comp", "--threads", "2")
    check(same("disk.comp", "disk_threads.comp"), "from disk: the same bytes with 2 threads", two.stderr)
    for ranks in (2, 4, 8):
        reads, done = read_bytes(ranks, *windows, "-o", f"disk{ranks}.comp", "--threads", "1")
        check(same("disk.comp", f"disk{ranks}.comp"), f"from disk: the same bytes with {ranks} ranks", done.stderr)
        check(len(reads) == ranks and one_reads and max(reads) < MOST_READ * one_reads[0], f"each of {ranks} ranks reads a part",
              f"{reads} of {one_reads}")
    done = comp(*windows, "-o", "disk_launched.comp", "--ranks", "2")
    check(done.returncode == 0 and same("disk.comp", "disk_launched.comp"), "from disk: the same bytes with --ranks 2", done.stderr)
    one_reads, one = read_bytes(1, *wide, "-o", "held.comp", "--threads", "1", "--select", "average")
    reads, done = read_bytes(4, *wide, "-o", "held4.comp", "--threads", "1", "--select", "average")
    check(same("held.comp", "held4.comp") and not same("held.comp", "disk.comp"), "X in memory, averaged weights: the same bytes with 4 ranks",
          one.stderr + done.stderr)
    check(len(reads) == 4 and one_reads and max(reads) < MOST_READ * one_reads[0], "without --memory, too, each of 4 ranks reads a part", f"{reads} of {one_reads}")
    one = comp(*train("by_rows.comp", "--epochs", "2", "--shards", "8", "--threads", "1"))
    columns = run(sys.executable, "-c", "import anndata; d = anndata.read_h5ad('ready.h5ad'); d.X = d.X.tocsc(); d.write_h5ad('columns.h5ad')")
    if columns.returncode == 0:
        done = over(2, "train", "-i", "columns.h5ad", *NETWORK[2:], "-o", "columns.comp", "--epochs", "2", "--threads", "1")
        check(same("by_rows.comp", "columns.comp"), "a file by columns, which each rank reads whole: the same bytes", done.stderr)


def change_while_training(ranks, command):
    """Appends to the data after the first epoch. What was said."""
    log, data = os.path.join(folder.name, "changed.log"), os.path.join(folder.name, "changed.h5ad")
    launcher = subprocess.Popen([*MPIRUN, "-n", str(ranks), COMP, *command, "--log", "changed.log"], cwd=folder.name, env=PATIENT,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True)
    while launcher.poll() is None and not (os.path.exists(log) and os.path.getsize(log) > 0):
        time.sleep(0.002)
    with open(data, "ab") as file:
        file.write(b"more")
    said, _ = launcher.communicate(timeout=240)
    return launcher.returncode, said


def test_bad_files():
    wide = ["train", "-c", "condition", "--hidden", "8", "--latent", "2", "--batch", "2000", "--shards", "4", "--threads", "1", "--align", "all",
            "--validation", "0", "--no-centre", "--memory", "16M"]
    shutil.copy(os.path.join(folder.name, "wide.h5ad"), os.path.join(folder.name, "changed.h5ad"))
    steady = comp(*wide, "-i", "wide.h5ad", "--epochs", "30", "-o", "steady.comp")
    check(steady.returncode == 0, "30 epochs from disk, unbroken", steady.stderr)
    code, said = change_while_training(2, [*wide, "-i", "changed.h5ad", "--epochs", "30", "-o", "changed.comp"])
    kept = os.path.join(folder.name, "changed.comp.checkpoint")
    check(code != 0 and "changed.h5ad: " in said and "was changed while it was being read" in said and os.path.exists(kept),
          "a file that changes ends the run; rank 0 saves its state", said)
    shutil.copy(os.path.join(folder.name, "wide.h5ad"), os.path.join(folder.name, "changed.h5ad"))
    done = over(4, *wide, "-i", "changed.h5ad", "--epochs", "30", "-o", "changed.comp", "--resume")
    check("going on after" in done.stderr and same("steady.comp", "changed.comp"), "resumed from disk with 4 ranks: the bytes of an unbroken run", done.stderr)
    data = bytearray(content("wide.h5ad"))
    middle = len(data) // 2
    data[middle:middle + 20000] = b"\x5a" * 20000
    with open(os.path.join(folder.name, "damaged.h5ad"), "wb") as file:
        file.write(data)
    for more in ([], ["--memory", "16M"]):
        refuses(over(2, *wide[:-2], "-i", "damaged.h5ad", "--epochs", "1", "-o", "no.comp", *more), "damaged.h5ad: ",
                f"a block that cannot be read{', from disk' if more else ''}")


def test_killed():
    options = ["--epochs", "200", "--shards", "4", "--threads", "1"]
    whole = comp(*train("whole.comp", *options))
    check(whole.returncode == 0, "200 epochs, unbroken", whole.stderr)
    code, said = kill_one(2, 1, train("killed.comp", *options))
    check(code != 0 and "the state is in killed.comp.checkpoint" in said, "a killed rank ends the run; rank 0 saves its state", said)
    kept = os.path.join(folder.name, "kept.checkpoint")
    if os.path.exists(os.path.join(folder.name, "killed.comp.checkpoint")):
        shutil.copy(os.path.join(folder.name, "killed.comp.checkpoint"), kept)
    done = over(4, *train("killed.comp", *options, "--resume"))
    check("going on after" in done.stderr and same("whole.comp", "killed.comp"), "resumed with 4 ranks: the bytes of an unbroken run", done.stderr)
    if os.path.exists(kept):
        shutil.copy(kept, os.path.join(folder.name, "alone.comp.checkpoint"))
    done = comp(*train("alone.comp", "--epochs", "200", "--resume"))
    check("going on after" in done.stderr and same("whole.comp", "alone.comp"), "resumed by one process, which takes the shards from the state", done.stderr)


def same_result(name, command, output, ranks=3):
    """A command in one process and over ranks, with the model of test_bytes: the same file, and the same words."""
    first = comp(*command, *output("1"), "--threads", "1")
    second = over(ranks, *command, *output("2"), "--threads", "1")
    check(first.returncode == 0 and second.returncode == 0 and first.stdout == second.stdout and same(output("1")[-1], output("2")[-1]), name,
          first.stderr + second.stderr)


def test_tasks():
    file = lambda number: ["-o", f"task{number}.h5ad"]
    with_model = ["-i", "large.h5ad", "-m", "one.comp"]
    same_result("embed over 3 ranks: the same bytes", ["embed", *with_model, "--scales"], file)
    same_result("draws over 3 ranks: the same bytes", ["embed", *with_model, "--sample", "--seed", "4"], file)
    same_result("counterfactual over 3 ranks: the same bytes", ["counterfactual", *with_model, "--to", "treated1", "--samples", "4"], file)
    same_result("borrowed changes, cells: the same bytes",
                ["counterfactual", *with_model, "--to", "treated1", "--from", "control", "--residual", "--borrow", "--cells"], file)
    same_result("correct over 2 ranks: the same bytes", ["correct", *with_model, "--to", "control", "--residual"], file, 2)
    embedded = comp("embed", *with_model, "-o", "embedded.h5ad")
    check(embedded.returncode == 0, "embedding to score", embedded.stderr)
    for search in ("exact", "approximate"):
        same_result(f"score over 3 ranks, {search} search: the same bytes",
                    ["score", "-i", "embedded.h5ad", "-c", "condition", "-l", "label", "-m", "all", "--search", search],
                    lambda number: ["--json", f"scores{number}.json"])


def refuses(done, text, name):
    check(done.returncode != 0 and text in done.stderr, name, done.stderr)


def test_prep():
    file = lambda number: ["-o", f"prep{number}.h5ad"]
    genes = ["--hvg-batch", "label", "--min-gene-cells", "3", "--min-cell-genes", "2", "--keep-counts"]
    logged = ["--normalize-total", "median", "--log1p"]
    ways = {"logarithms": logged, "genes by auto": [*logged, "--hvg", "auto:10", "--condition", "condition", "--label", "label"],
            "filters, genes by vst": [*logged, "--hvg", "vst:12", *genes], "genes by seurat": [*logged, "--hvg", "seurat:12", *genes],
            "genes by variance": [*logged, "--hvg", "variance:7", "--hvg-batch", "condition"]}
    for number, (name, options) in enumerate(ways.items()):
        for ranks in (2, 4) if number == 1 else (2 + number % 3,):
            same_result(f"prep over {ranks} ranks, {name}: the same bytes", ["prep", "-i", "more.h5ad", *options], file, ranks)
    same_result("prep of 6 samples over 8 ranks: the same bytes", ["prep", "-i", "few.h5ad", "--log1p", "--force"], file, 8)
    same_result("prep of a table over 2 ranks: the same bytes", ["prep", "-i", "few.csv", "--obs", "group"], file, 2)
    one, done = comp("prep", "-i", "more.h5ad", *ways["genes by auto"], "-o", "prep1.h5ad"), comp("prep", "-i", "more.h5ad", *ways["genes by auto"], "-o", "launched.h5ad", "--ranks", "2")
    check(done.returncode == 0 and same("prep1.h5ad", "launched.h5ad"), "prep --ranks 2: the same bytes", one.stderr + done.stderr)
    check(done.stderr.count("done in ") == 1 and done.stderr.count("genes are kept") == 1, "prep: rank 0 speaks for all", done.stderr)
    split = lambda first, second: run(*MPIRUN, "-n", "1", *first, ":", "-n", "1", *second)
    prep = lambda name, folder=".": ["sh", "-c", 'cd "$1"; shift; exec "$@"', "sh", folder, COMP, "prep", "-i", name, "-o", "no.h5ad", *logged]
    os.makedirs(os.path.join(folder.name, "empty"), exist_ok=True)
    refuses(split(prep("more.h5ad"), prep("more.h5ad", "empty")), "rank 1: more.h5ad: cannot open", "prep: a rank that fails ends all; rank 0 says why")
    refuses(split(prep("more.h5ad"), prep("counts.h5ad")), "rank 1 has other options than rank 0", "prep: ranks with other options")
    refuses(over(2, "prep", "-i", "more.h5ad", "-o", "no.h5ad", "--log1p", "--ranks", "3"), "has started 2 processes already", "prep: --ranks under mpirun")
    refuses(over(2, "prep", "-i", "ready.h5ad", "-o", "no.h5ad", "--log1p"), "X is already logged", "prep: an error of all ranks")
    check(not os.path.exists(os.path.join(folder.name, "no.h5ad")), "prep: nothing was written")


def test_refused():
    split = lambda first, second: run(*MPIRUN, "-n", "1", *first, ":", "-n", "1", *second)
    refuses(over(3, *train("no.comp", "--epochs", "1")), "8 shards cannot be shared out evenly to 3 processes", "3 ranks and 8 shards")
    refuses(comp(*train("no.comp", "--shards", "6")), "--shards: 6 is not a power of two", "6 shards")
    refuses(comp(*train("no.comp", "--ranks", "0")), "--ranks", "no ranks")
    refuses(over(2, *train("no.comp", "--epochs", "1", "--ranks", "4")), "has started 2 processes already", "--ranks under mpirun")
    refuses(split([COMP, *train("no.comp", "--epochs", "1")], [COMP, "train", "-i", "gone.h5ad", *NETWORK[2:], "-o", "no.comp"]),
            "rank 1: gone.h5ad: cannot open", "a file that one rank does not have: rank 0 says so")
    refuses(split([COMP, "embed", "-i", "ready.h5ad", "-m", "one.comp", "-o", "no.h5ad"], [COMP, "embed", "-i", "other.h5ad", "-m", "one.comp", "-o", "no.h5ad"]),
            "rank 1 has other options than rank 0", "embed: ranks with other options")
    refuses(comp("train", "-i", "gone.h5ad", *NETWORK[2:], "-o", "no.comp", "--ranks", "2"), "gone.h5ad: cannot open", "--ranks: an error of all ranks")
    refuses(over(2, "pca", "-i", "counts.h5ad", "-o", "no.h5ad"), "it does not work over ranks", "a command that does not work over ranks")
    refuses(over(8, "train", "-i", "few.csv", "-c", "group", "-o", "no.comp", "--hidden", "4", "--latent", "2", "--validation", "0"),
            "a batch of 6 samples cannot be cut into 8 shards", "fewer samples than ranks")
    refuses(split([COMP, *train("no.comp", "--epochs", "1")], [COMP, *train("no.comp", "--epochs", "1", "--seed", "1")]),
            "rank 1 has other options than rank 0", "ranks with other options")
    refuses(split([COMP, *train("no.comp", "--epochs", "1")],
                  [COMP, "train", "-i", "other.h5ad", "-c", "condition", "--hidden", "8", "--latent", "2", "--batch", "64", "-o", "no.comp", "--epochs", "1"]),
            "rank 1 has other data than rank 0", "ranks with other data")
    refuses(split([COMP, *train("no.comp", "--epochs", "1", "--memory", "16M")], [COMP, *train("no.comp", "--epochs", "1")]),
            "rank 1 has other options than rank 0", "ranks of which one trains from disk")
    refuses(split([COMP, *train("no.comp", "--epochs", "1", "--align", "all")], [COMP, *train("no.comp", "--epochs", "1")]),
            "rank 1 has other options than rank 0", "ranks that would look at the data a different number of times")
    refuses(over(8, "train", "-i", "few.h5ad", "-c", "group", "-o", "no.comp", "--hidden", "4", "--latent", "2", "--validation", "0"),
            "a batch of 6 samples cannot be cut into 8 shards", "fewer samples than ranks, some of which have none")
    refuses(split([COMP, *train("no.comp", "--epochs", "1")], ["env", "COMP_CPU=baseline", COMP, *train("no.comp", "--epochs", "1")]),
            "rank 1 computes with the kernels baseline", "ranks with other kernels")
    check(not os.path.exists(os.path.join(folder.name, "no.comp")) and not os.path.exists(os.path.join(folder.name, "no.h5ad")), "nothing was written")


def make_inputs():
    for number, (seed, name) in enumerate((("0", "counts.h5ad"), ("1", "other_counts.h5ad"))):
        done = comp("simulate", "-o", name, "--cells", "160", "--genes", "30", "--conditions", "3", "--no-truth", "--seed", seed)
        ready = ("ready.h5ad", "other.h5ad")[number]
        if done.returncode == 0:
            done = comp("prep", "-i", name, "-o", ready, "--normalize-total", "median", "--log1p")
        if done.returncode != 0:
            print("Bail out!", done.stderr)
            sys.exit(1)
    done = comp("simulate", "-o", "more.h5ad", "--cells", "1300", "--genes", "30", "--conditions", "3", "--no-truth", "--seed", "2")
    if done.returncode == 0:
        done = comp("prep", "-i", "more.h5ad", "-o", "large.h5ad", "--normalize-total", "median", "--log1p")
    if done.returncode != 0:
        print("Bail out!", done.stderr)
        sys.exit(1)
    with open(os.path.join(folder.name, "few.csv"), "w") as file:
        print("name,group,x,y", *[f"c{i},{'ab'[i % 2]},{i},{i * i % 7}" for i in range(6)], sep="\n", file=file)
    for command in (("convert", "-i", "few.csv", "-o", "few.h5ad"), ("simulate", "-o", "wide_counts.h5ad", "--cells", "6000", "--genes", "2000", "--no-truth"),
                    ("prep", "-i", "wide_counts.h5ad", "-o", "wide.h5ad", "--normalize-total", "median", "--log1p")):
        done = comp(*command)
        if done.returncode != 0:
            print("Bail out!", done.stderr)
            sys.exit(1)


folder = tempfile.TemporaryDirectory()
failed = False
if not shutil.which("mpirun") or "Open MPI" not in subprocess.run(["mpirun", "--version"], capture_output=True, text=True).stdout:
    print("1..0 # SKIP there is no mpirun of Open MPI")
    sys.exit(0)
if not os.path.exists(os.path.join(os.environ.get("COMP_MODULES", "."), "mpi.so")):
    print("1..0 # SKIP comp was built without the module mpi")
    sys.exit(0)
make_inputs()
for test in (test_bytes, test_disk, test_bad_files, test_tasks, test_prep, test_killed, test_refused):
    if test.__name__ in (sys.argv[2:] or [test.__name__]):
        test()
print(f"1..{count}")
sys.exit(1 if failed else 0)
