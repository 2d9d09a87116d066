"""netns.py COMP PROBE [MBIT ...]: `comp train` with two ranks in two network namespaces, over TCP with a limited rate: the bytes of one process, and the time of
a step against the model of docs/cluster.md. Needs root, ip, tc and Open MPI; says so and skips otherwise. All traffic stays in the namespaces, which it
makes and removes. Speaks TAP."""
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import cluster_cost  # beside this file

COMP, PROBE = (os.path.abspath(path) for path in sys.argv[1:3])
RATES = [float(rate) for rate in sys.argv[3:]] or [20.0, 50.0]
NAMES = [f"comp{os.getpid()}{side}" for side in "ab"]
ADDRESSES = ["10.211.7.1", "10.211.7.2"]
TRAIN = ["train", "-i", "ready.h5ad", "-c", "condition", "--align", "all", "--validation", "0", "--threads", "1", "--precision", "f32", "--epochs", "8"]
TOLERANCE = 0.2


def skip(reason):
    print(f"1..0 # SKIP {reason}")
    sys.exit(0)


def run(*command, **more):
    """A command. When this program must end, the command does, too: mpirun then ends its ranks."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL, **more) as process:
        try:
            said, problems = process.communicate()
        except BaseException:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, said, problems)


def need(*command, **more):
    done = run(*command, **more)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    return done


def make_network():
    for name in NAMES:
        need("ip", "netns", "add", name)
    need("ip", "link", "add", "v0", "netns", NAMES[0], "type", "veth", "peer", "name", "v0", "netns", NAMES[1])
    for name, address in zip(NAMES, ADDRESSES):
        need("ip", "-n", name, "addr", "add", f"{address}/24", "dev", "v0")
        for device in ("lo", "v0"):
            need("ip", "-n", name, "link", "set", device, "up")


def limit(rate):
    for name in NAMES:
        need("tc", "-n", name, "qdisc", "replace", "dev", "v0", "root", "tbf", "rate", f"{rate:g}mbit", "burst", "64kb", "latency", "200ms")


def over(folder, program, *arguments):
    """A program in two ranks, the second one started by an agent that enters its namespace in place of ssh."""
    agent = os.path.join(folder, "agent")
    with open(agent, "w") as file:
        file.write(f"#!/bin/sh\nshift\nexec ip netns exec {NAMES[1]} /bin/sh -c \"$*\"\n")
    os.chmod(agent, 0o755)
    return run("ip", "netns", "exec", NAMES[0], "mpirun", "--allow-run-as-root", "--bind-to", "none", "--host", f"{ADDRESSES[0]}:1,{ADDRESSES[1]}:1",
               "--mca", "plm_rsh_agent", agent, "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "v0", "--mca", "oob_tcp_if_include", "v0",
               "--mca", "pml", "ob1", "-x", "COMP_MODULES", program, *arguments, cwd=folder)


def probe(folder, shape, rounds=7):
    """Seconds of small messages and of large ones, round by round, through the communicator that training uses: what a step has of both."""
    count = cluster_cost.messages(shape)
    done = over(folder, PROBE, str(int(cluster_cost.received_bytes(shape, 2))), str(count), str(rounds))
    if done.returncode != 0:
        raise RuntimeError(done.stdout + done.stderr)
    lines = [[float(word) for word in line.split()] for line in done.stdout.splitlines()[1:]]  # the first round also connects
    return [small / count for small, _ in lines], [large for _, large in lines]


def row_bytes(text):
    """Bytes of a sample as ranks send it, by what comp info says of the zeros."""
    features, zeros = re.search(r"x ([\d,]+) features", text).group(1), re.search(r"([\d.]+) % zeros", text).group(1)
    return 8 * int(features.replace(",", "")) * (1 - float(zeros) / 100)


def step_seconds(folder, log):
    """The median over epochs, by the log. The first one also has what is done once."""
    with open(os.path.join(folder, log)) as file:
        lines = [json.loads(line) for line in file]
    epochs = [(after["seconds"] - before["seconds"]) / (after["steps"] - before["steps"]) for before, after in zip(lines, lines[1:])]
    return statistics.median(epochs)


def test(folder):
    need(COMP, "simulate", "-q", "-o", "counts.h5ad", "--cells", "1500", "--genes", "2000", "--no-truth", cwd=folder)
    need(COMP, "prep", "-q", "-i", "counts.h5ad", "-o", "ready.h5ad", "--normalize-total", "median", "--log1p", cwd=folder)
    one = need(COMP, *TRAIN, "-o", "one.comp", "--shards", "8", "--log", "one.log", cwd=folder)
    shape = cluster_cost.Shape(int(re.search(r"(\d+) parameters", one.stderr).group(1)), batch=500, latent=20, hidden=1024, shards=8,
                               row=row_bytes(need(COMP, "info", "ready.h5ad", cwd=folder).stdout))
    print(f"1..{1 + 2 * len(RATES)}", flush=True)
    good = ended_by_signal()
    print(f"{'ok' if good else 'not ok'} 1 - ended by SIGTERM it leaves no namespaces", flush=True)
    failed, number = not good, 2
    for rate in RATES:
        limit(rate)
        small, large = probe(folder, shape)
        done = over(folder, COMP, *TRAIN, "-o", "two.comp", "--log", "two.log", "--verbose")
        same = done.returncode == 0 and run("cmp", "one.comp", "two.comp", cwd=folder).returncode == 0
        print(f"{'ok' if same else 'not ok'} {number} - {rate:g} Mbit/s: the bytes of one process", flush=True)
        if not same:
            print("\n".join("# " + line for line in (done.stdout + done.stderr).splitlines()[-20:]))
            sys.exit(1)
        for before, after in zip((small, large), probe(folder, shape)):
            before += after
        need(COMP, *TRAIN, "-o", "one.comp", "--shards", "8", "--log", "one.log", cwd=folder)
        alone = step_seconds(folder, "one.log")
        latency, bandwidth = statistics.median(small), cluster_cost.received_bytes(shape, 2) * 8 / statistics.median(large)
        step = step_seconds(folder, "two.log")
        predicted = alone / 2 + cluster_cost.transfer_seconds(shape, 2, bandwidth, latency)
        off = step / predicted - 1
        good = abs(off) <= TOLERANCE
        found = re.search(r"([\d.]+) MB in ([\d.]+) calls a step", done.stderr)
        print(f"# a step: {found.group(1)} MB in {found.group(2)} messages, by the model {cluster_cost.received_bytes(shape, 2) / 1e6:.4g} in "
              f"{cluster_cost.messages(shape)}; a message takes {1e3 * latency:.2f} ms, and {bandwidth / 1e6:.1f} Mbit/s come through")
        print(f"{'ok' if good else 'not ok'} {number + 1} - {rate:g} Mbit/s: a step takes {1e3 * step:.0f} ms, the model "
              f"says {1e3 * predicted:.0f} ms ({100 * off:+.0f} %); alone {1e3 * alone:.0f} ms; load {os.getloadavg()[0]:.1f}", flush=True)
        failed = failed or not good
        number += 2
    sys.exit(1 if failed else 0)


def names_of(process):
    return [f"comp{process}a", f"comp{process}b"]


def namespaces():
    return [line.split()[0] for line in run("ip", "netns", "list").stdout.splitlines() if line]


def ended_by_signal():
    """Starts this program once more, ends it while it works, and looks for what it leaves."""
    process = subprocess.Popen([sys.executable, *sys.argv], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and names_of(process.pid)[1] not in namespaces():
        time.sleep(0.05)
    made = process.poll() is None
    process.terminate()
    process.wait()
    return made and not set(names_of(process.pid)) & set(namespaces())


def stop(number, _):
    signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)


def main():
    if os.geteuid() != 0:
        skip("only root makes network namespaces")
    for program in ("ip", "tc", "mpirun"):
        if not shutil.which(program):
            skip(f"there is no {program}")
    if "Open MPI" not in run("mpirun", "--version").stdout:
        skip("mpirun is not Open MPI's")
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, stop)
    with tempfile.TemporaryDirectory() as folder:
        try:
            try:
                make_network()
            except RuntimeError as problem:
                skip(f"no network namespaces here: {problem}".replace("\n", " "))
            test(folder)
        finally:
            for name in NAMES:
                run("ip", "netns", "del", name)


main()
