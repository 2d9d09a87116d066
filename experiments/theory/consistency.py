#!/usr/bin/env python3
"""Theorem 3: the prior of the model is normal, the truth is not. With more data CoMP still comes closer to the
truth: the error of the map falls with n. A batch is all of the data, as in the theorem: at a batch of fixed size the
penalty is a bound that stays loose, and the error comes to a floor (some 4 % at 2,000, however large n is)."""
import os

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
import numpy as np

import common

SIZES = (250, 500, 1000, 2000, 4000)
options = common.arguments(__doc__, sizes=SIZES)
sizes = options.sizes
world = common.World(1)
x, c = world.draw(max(*SIZES, *sizes), common.sources)  # the same samples whatever sizes are asked for
test, test_c = world.draw(4000, common.sources)
test_path = os.path.join(options.out, "consistency-test.csv")
common.write(test_path, test, test_c)
errors = np.zeros((len(sizes), options.seeds))
objectives = np.zeros_like(errors)
for i, n in enumerate(sizes):
    data = os.path.join(options.out, f"consistency{n}.csv")
    common.write(data, x[:n], c[:n])
    for seed in range(options.seeds):
        model = os.path.join(options.out, f"consistency{n}-{seed}.comp")
        objectives[i, seed] = common.train(data, model, seed, n, options.steps, batch=n)
        # On samples that were not trained on.
        predicted = common.counterfactuals(test_path, model, "b")[test_c == 0]
        errors[i, seed] = common.error(common.linear_map(test[test_c == 0], predicted), world.map)
        print(f"n = {n}, seed {seed}: objective {objectives[i, seed]:.3f}, error {errors[i, seed]:.1%}", flush=True)
best = errors[np.arange(len(sizes)), objectives.argmin(1)]
print("error of the model with the lowest objective:", ", ".join(f"{n}: {e:.1%}" for n, e in zip(sizes, best)))

figure, axis = plt.subplots(figsize=(5, 3.6), constrained_layout=True)
for seed in range(options.seeds):
    axis.plot(sizes, errors[:, seed], ".", color="grey")
axis.plot(sizes, best, "o-")
axis.set(xscale="log", yscale="log", xlabel="samples", ylabel="error of the map",
         title="a normal prior, a truth that is not normal")
figure.savefig(os.path.join(options.out, "consistency.svg"))
common.finish([
    (bool((np.diff(best) < 0).all()), "the error falls with every step in n"),
    (bool(best[-1] < best[0] / 3), f"from {best[0]:.0%} to {best[-1]:.0%}"),
])
