"""Loss, every gradient tensor and ten steps of Adam of every model, against the PyTorch restatement (in double precision)."""
import json
import os
import struct
import subprocess
import sys
import tempfile

import numpy as np
import torch

sys.path.insert(0, os.path.dirname(__file__))
import reference_torch as reference  # noqa: E402

BUILD = os.environ.get("COMP_BUILD", "build")
CASES = ["vae", "vae learned", "cvae", "cvae mean", "cvae nb", "vfae single z learned", "vfae z", "vfae hidden", "trvae", "trvae K=3",
         "trvae K=5", "comp", "comp K=3", "comp K=5", "comp learned", "comp learned K=3", "comp without-self", "comp p0",
         "comp p0 learned K=3", "comp without-self learned K=5", "comp nb", "comp mean", "comp blur",
         "comp blur learned K=3", "comp blur p0", "comp centred", "comp centred unseen K=3", "vfae centred nb unseen",
         "comp shards=4", "comp shards=8 K=5 learned blur", "comp shards=4 K=3 without-self centred", "comp shards=2 nb", "trvae shards=4 K=3",
         "comp target", "comp target learned blur K=3", "vae target", "vfae target unseen", "comp target shards=4 K=3"]


def load(path):
    data = open(path, "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    header, arrays = json.loads(data[8:8 + size]), {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            raw = np.frombuffer(data[8 + size + begin:8 + size + end], np.float32)
            arrays[name] = torch.tensor(raw.reshape(entry["shape"]).astype(np.float64))
    return arrays, json.loads(header["__metadata__"]["config"])


def part(arrays, prefix):
    return {name[len(prefix):]: value for name, value in arrays.items() if name.startswith(prefix)}


def run(case, folder, extra=()):
    path = os.path.join(folder, "dump.safetensors")
    subprocess.run([os.path.join(BUILD, "tests", "grad_dump"), path, *case.split(), *extra], check=True)
    arrays, config = load(path)
    params = {name: value.requires_grad_() for name, value in part(arrays, "param.").items()}
    rows, starts = arrays["x"].shape[0], arrays["start"].flatten().long()
    conditions = len(starts) - 1
    c = torch.cat([torch.full((int(starts[k + 1] - starts[k]),), k) for k in range(conditions)]).long()
    optimiser = torch.optim.Adam(params.values(), lr=1e-3)
    tensors = dict(params, **part(arrays, "buffer."))
    losses, grads = [], None
    for step in range(arrays["losses"].numel()):
        optimiser.zero_grad()
        eps = arrays["eps"][step].reshape(rows, -1)
        value = reference.loss(tensors, config, arrays["x"], c, eps, arrays["library"].flatten(), conditions,
                               target=arrays["target"].flatten().long())
        value.backward()
        if grads is None:
            grads = {name: p.grad.clone() for name, p in params.items()}
        losses.append(value.item())
        optimiser.step()
    return arrays, np.array(losses), grads


def check(case, folder):
    arrays, losses, grads = run(case, folder)
    ours = arrays["losses"].flatten().numpy()
    problems = []
    if abs(ours[0] - losses[0]) > 1e-4 * max(1, abs(losses[0])):
        problems.append(f"loss {ours[0]:.7g}, torch {losses[0]:.7g}")
    for name, expected in grads.items():
        error = (part(arrays, "grad.")[name] - expected).abs().max().item()
        # At least 1: the gradient of mean.bias is a sum that nearly cancels (the decoder's normalisation takes a shift of z out again), so
        # its own size says little about the size of its terms.
        largest = max(1.0, expected.abs().max().item())
        if error > 1e-4 * largest:
            problems.append(f"gradient of {name}: off by {error:.2g} of {largest:.2g}")
    drift = np.abs(ours - losses) / np.maximum(1, np.abs(losses))
    if drift.max() > 1e-3:
        problems.append(f"ten steps: off by {drift.max():.2g}")
    return problems


def check_bf16(case, folder):
    """bf16 products: the loss within 2 %, gradients pointing the same way."""
    arrays, losses, grads = run(case, folder, ["bf16"])
    problems = []
    if abs(arrays["losses"].flatten()[0] - losses[0]) > 0.02 * abs(losses[0]):
        problems.append(f"loss {arrays['losses'].flatten()[0]:.6g}, torch {losses[0]:.6g}")
    for name, expected in grads.items():
        got = part(arrays, "grad.")[name].flatten()
        cosine = torch.dot(got, expected.flatten()) / (got.norm() * expected.norm() + 1e-30)
        if expected.norm() > 1e-4 and cosine < 0.99:
            problems.append(f"gradient of {name}: cosine {cosine:.4f}")
    return problems


def main():
    torch.set_num_threads(1)
    print(f"1..{len(CASES) + 2}")
    with tempfile.TemporaryDirectory() as folder:
        number = 0
        for kind, cases in ((check, CASES), (check_bf16, ["comp", "trvae"])):
            for case in cases:
                number += 1
                problems = kind(case, folder)
                label = f"{case}{' in bf16' if kind is check_bf16 else ''}: loss, gradients, steps as in PyTorch"
                print(f"{'not ok' if problems else 'ok'} {number} - {label}", flush=True)
                for problem in problems:
                    print(f"# {problem}")


if __name__ == "__main__":
    main()
