"""netns.py COMP [MBIT ...]: `comp train` with two ranks in two network namespaces, over TCP with a limited rate: the bytes of one process, and the time of
a step against the model of docs/cluster.md. Needs root, ip, tc and Open MPI; says so and skips otherwise. All traffic stays in the namespaces, which it
makes and removes. Speaks TAP."""
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

import cluster_cost  # beside this file

COMP = os.path.abspath(sys.argv[1])
RATES = [float(rate) for rate in sys.argv[2:]] or [50.0, 100.0]
NAMES = [f"comp{os.getpid()}a", f"comp{os.getpid()}b"]
ADDRESSES = ["10.211.7.1", "10.211.7.2"]
TRAIN = ["train", "-i", "ready.h5ad", "-c", "condition", "--align", "all", "--validation", "0", "--threads", "1", "--precision", "f32", "--epochs", "8"]
TOLERANCE = 0.2


def skip(reason):
    print(f"1..0 # SKIP {reason}")
    sys.exit(0)


def run(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, **more)


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


def over(folder, *arguments):
    """Two ranks, the second one started by an agent that enters its namespace in place of ssh."""
    agent = os.path.join(folder, "agent")
    with open(agent, "w") as file:
        file.write(f"#!/bin/sh\nshift\nexec ip netns exec {NAMES[1]} /bin/sh -c \"$*\"\n")
    os.chmod(agent, 0o755)
    return run("ip", "netns", "exec", NAMES[0], "mpirun", "--allow-run-as-root", "--bind-to", "none", "--host", f"{ADDRESSES[0]}:1,{ADDRESSES[1]}:1",
               "--mca", "plm_rsh_agent", agent, "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "v0", "--mca", "oob_tcp_if_include", "v0",
               "--mca", "pml", "ob1", "-x", "COMP_MODULES", COMP, *arguments, cwd=folder)


SERVE = """
import socket, sys, threading, time
n, mine, other, first = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4] == "first"
if first:
    listener = socket.create_server((mine, 5999))
    print("ready", flush=True)
    link, _ = listener.accept()
else:
    link = socket.create_connection((other, 5999))
sender = threading.Thread(target=link.sendall, args=(bytes(n),))
began = time.monotonic()
sender.start()
left = n
while left > 0:
    left -= len(link.recv(min(left, 1 << 20)))
sender.join()
print(time.monotonic() - began)
"""


def bandwidth(rate):
    """Bits a second that two programs get through when both send at once, as ranks do."""
    size = int(rate * 1e6 / 8 * 2)  # two seconds
    inside = [["ip", "netns", "exec", NAMES[i], sys.executable, "-c", SERVE, str(size), ADDRESSES[i], ADDRESSES[1 - i], ("first", "second")[i]] for i in (0, 1)]
    server = subprocess.Popen(inside[0], stdout=subprocess.PIPE, text=True)
    server.stdout.readline()
    seconds = float(need(*inside[1]).stdout)
    server.wait()
    return size * 8 / seconds


def step_seconds(folder, log):
    """The median over epochs, by the log. The first one also has what is done once."""
    with open(os.path.join(folder, log)) as file:
        lines = [json.loads(line) for line in file]
    epochs = [(after["seconds"] - before["seconds"]) / (after["steps"] - before["steps"]) for before, after in zip(lines, lines[1:])]
    return statistics.median(epochs)


def test(folder):
    failed, number = False, 1
    need(COMP, "simulate", "-q", "-o", "counts.h5ad", "--cells", "1500", "--genes", "2000", "--no-truth", cwd=folder)
    need(COMP, "prep", "-q", "-i", "counts.h5ad", "-o", "ready.h5ad", "--normalize-total", "median", "--log1p", cwd=folder)
    one = need(COMP, *TRAIN, "-o", "one.comp", "--shards", "8", "--log", "one.log", cwd=folder)
    shape = cluster_cost.Shape(int(re.search(r"(\d+) parameters", one.stderr).group(1)), batch=500, latent=20, hidden=1024, shards=8)
    alone = step_seconds(folder, "one.log")
    print(f"1..{2 * len(RATES)}", flush=True)
    for rate in RATES:
        limit(rate)
        measured = bandwidth(rate)
        done = over(folder, *TRAIN, "-o", "two.comp", "--log", "two.log")
        same = done.returncode == 0 and run("cmp", "one.comp", "two.comp", cwd=folder).returncode == 0
        print(f"{'ok' if same else 'not ok'} {number} - {rate:g} Mbit/s: the bytes of one process", flush=True)
        if not same:
            print("\n".join("# " + line for line in (done.stdout + done.stderr).splitlines()[-20:]))
            sys.exit(1)
        step = step_seconds(folder, "two.log")
        predicted = alone / 2 + cluster_cost.transfer_seconds(shape, 2, measured)
        off = step / predicted - 1
        good = abs(off) <= TOLERANCE
        print(f"{'ok' if good else 'not ok'} {number + 1} - {rate:g} Mbit/s (measured {measured / 1e6:.1f}): a step takes {1e3 * step:.0f} ms, the model "
              f"says {1e3 * predicted:.0f} ms ({100 * off:+.0f} %); alone {1e3 * alone:.0f} ms; load {os.getloadavg()[0]:.1f}", flush=True)
        failed = failed or not good
        number += 2
    sys.exit(1 if failed else 0)


def main():
    if os.geteuid() != 0:
        skip("only root makes network namespaces")
    for program in ("ip", "tc", "mpirun"):
        if not shutil.which(program):
            skip(f"there is no {program}")
    if "Open MPI" not in run("mpirun", "--version").stdout:
        skip("mpirun is not Open MPI's")
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
