"""cluster_cost.py: the model of cost of docs/cluster.md: bytes and seconds of a training step at a number of ranks. Run it for the table of that page:
python3 tests/dist/cluster_cost.py --products GFLOPS --penalty GFLOPS. tests/dist/netns.py compares it with measured times."""
import argparse
import collections

# row: bytes of a sample; layers: hidden layers of encoder and decoder together
Shape = collections.namedtuple("Shape", "parameters batch latent hidden shards row layers", defaults=(0, 4))
LATENCY = 50e-6  # seconds a message: a usual network with TCP


def parts(batch):
    return 16 if batch >= 4096 else 8


def messages(shape):
    """Exchanges a step: the rows of the batch, two for each normalised layer, posteriors (2), the penalty (4), the bound on lengths, losses, gradients (2)."""
    return 11 + 2 * shape.layers


def received_bytes(shape, ranks):
    """What a rank receives in one step."""
    rows = -(-shape.batch // 64) * 64
    everything = (8 * shape.parameters + 16 * shape.shards * shape.hidden + 12 * shape.batch * shape.latent
                  + 4 * parts(shape.batch) * rows * shape.latent + 12 * shape.batch)
    return (ranks - 1) / ranks * (everything + shape.batch * shape.row / ranks)


def transfer_seconds(shape, ranks, bits_a_second, latency=LATENCY):
    """bits_a_second: of data, what two programs get through when both send at once."""
    return received_bytes(shape, ranks) * 8 / bits_a_second + messages(shape) * latency if ranks > 1 else 0.0


def compute_seconds(shape, ranks, products, penalty):
    """products, penalty: flops a second of one rank."""
    flops = 6 * shape.parameters * shape.batch / ranks / products
    return flops + 20 * shape.batch**2 * shape.latent / min(ranks, parts(shape.batch)) / penalty


def main():
    parser = argparse.ArgumentParser(description="predicted seconds of a training step")
    parser.add_argument("--products", type=float, required=True, help="Gflop/s of a node's matrix products")
    parser.add_argument("--penalty", type=float, required=True, help="Gflop/s of a node's penalty")
    parser.add_argument("--parameters", type=int, default=1170688)
    parser.add_argument("--batch", type=int, default=4096)
    parser.add_argument("--latent", type=int, default=20)
    parser.add_argument("--hidden", type=int, default=1024)
    parser.add_argument("--row", type=int, default=2400, help="bytes of a sample: 8 for each value that is not 0")
    o = parser.parse_args()
    print("| nodes | computing | step, 10 Gbit/s | step, 100 Gbit/s | speed-up, 10 | speed-up, 100 |\n|---|---|---|---|---|---|")
    alone = None
    for ranks in (1, 2, 4, 8, 16, 32, 64):
        shape = Shape(o.parameters, o.batch, o.latent, o.hidden, max(8, ranks), o.row)
        computing = compute_seconds(shape, ranks, o.products * 1e9, o.penalty * 1e9)
        alone = alone or computing
        times = [computing + transfer_seconds(shape, ranks, rate) for rate in (10e9, 100e9)]
        print(f"| {ranks} | {1e3 * computing:.1f} ms | " + " | ".join(f"{1e3 * t:.1f} ms" for t in times) + " | "
              + " | ".join(f"{alone / t:.1f}" for t in times) + " |")


if __name__ == "__main__":
    main()
