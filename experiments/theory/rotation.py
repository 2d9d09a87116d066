#!/usr/bin/env python3
"""The negative proposition: with z ~ N(0, I) and linear decoders, a rotation of z in one condition leaves the likelihood
of unpaired data as it is and changes the counterfactuals. In closed form, then with trained models: they fit the data
alike and miss the true map, each in its own way, and diagnose warns. Needs numpy and matplotlib."""
import os

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
import numpy as np

import common

N = 8000
SAME_FIT = 0.05  # nats a sample, between log-likelihoods; training improves them by some 9
options = common.arguments(__doc__)
world = common.World(2)
x, c = world.draw(N, lambda n, rng: rng.normal(size=(n, common.DIMS)))
data = os.path.join(options.out, "rotation.csv")
common.write(data, x, c)


def log_likelihood(a):
    """Mean log p(x | c) of x = A_c z + noise, z ~ N(0, I)."""
    total = 0.0
    for k in (0, 1):
        covariance = a[k] @ a[k].T + common.NOISE**2 * np.eye(common.DIMS)
        xs = x[c == k]
        total += -0.5 * (np.einsum("ij,jk,ik->", xs, np.linalg.inv(covariance), xs)
                         + len(xs) * np.linalg.slogdet(2 * np.pi * covariance)[1])
    return total / N


turn = common.rotation(world.rng, 1.5)
models_a = [world.a, [world.a[0], world.a[1] @ turn]]
fits = [log_likelihood(a) for a in models_a]
maps = [a[1] @ np.linalg.inv(a[0]) for a in models_a]
apart = common.error(maps[1], maps[0])
print(f"closed form: log-likelihood {fits[0]:.10f} and, rotated, {fits[1]:.10f}; maps differ by {apart:.0%}")

models, objectives, fits_trained, explained, errors, found = [], [], [], [], [], []
for seed in range(options.seeds):
    model = os.path.join(options.out, f"rotation{seed}.comp")
    objectives.append(common.train(data, model, seed, N, options.steps))
    fits_trained.append(common.last_epoch(model)["likelihood"])
    explained.append(common.explained(data, model))
    predicted = common.counterfactuals(data, model, "b")[c == 0]
    found.append(common.linear_map(x[c == 0], predicted))
    errors.append(common.error(found[-1], world.map))
    models.append(model)
    print(f"seed {seed}: objective {objectives[-1]:.3f}, -log-likelihood {fits_trained[-1]:.3f}, variance explained {explained[-1]:.3f}, "
          f"error of the map {errors[-1]:.1%}")
between = max(common.error(a, b) for a in found for b in found)
fit_apart, explained_apart = np.ptp(fits_trained), np.ptp(explained)
print(f"maps of two seeds differ by up to {between:.0%}, objectives by {np.ptp(objectives):.2f} nats, likelihoods by "
      f"{fit_apart:.3f}, the variance explained by {explained_apart:.2%}")
levels, table = common.diagnose(data, models, os.path.join(options.out, "rotation.json"))
print(table)

# The proposition: along the rotation of one decoder the likelihood stays, the map moves away.
angles = np.linspace(0, np.pi, 37)
axis_seed = world.rng.integers(1 << 31)
path = [[world.a[0], world.a[1] @ common.rotation(np.random.default_rng(axis_seed), angle)] for angle in angles]
likelihoods = [log_likelihood(a) for a in path]
distances = [common.error(a[1] @ np.linalg.inv(a[0]), world.map) for a in path]
figure, axes = plt.subplots(1, 4, figsize=(14, 3.4), constrained_layout=True)
axes[0].plot(np.degrees(angles), likelihoods)
axes[0].set(xlabel="rotation of one decoder, degrees", ylabel="log-likelihood of a sample", title="the same likelihood",
            ylim=(fits[0] - 1, fits[0] + 1))
axes[1].plot(np.degrees(angles), distances, color="C1")
axes[1].set(xlabel="rotation of one decoder, degrees", ylabel="distance from the true map",
            title="other counterfactuals")
axes[2].bar(range(options.seeds), explained)
axes[2].set(xlabel="seed", ylabel="share of the variance explained", title="trained models: the same fit",
            xticks=range(options.seeds))
axes[3].bar(range(options.seeds), errors, color="C1")
axes[3].axhline(0.05, color="black", linewidth=0.8, linestyle=":")
axes[3].set(xlabel="seed", ylabel="error of the map", title="trained models: other counterfactuals", xticks=range(options.seeds))
figure.savefig(os.path.join(options.out, "rotation.svg"))
common.finish([
    (abs(fits[0] - fits[1]) < 1e-9 and apart > 0.5, "closed form: the same likelihood, other counterfactuals"),
    (max(likelihoods) - min(likelihoods) < 1e-9 and max(distances) > 0.5, "closed form: so at every angle"),
    (min(explained) > 0.95, f"trained models fit: they explain at least {min(explained):.1%} of the variance"),
    (fit_apart < SAME_FIT and explained_apart < 0.01,
     f"they fit alike: log-likelihoods differ by {fit_apart:.3f} nats a sample, at most {SAME_FIT}, the variance explained "
     f"by {explained_apart:.2%}, at most 1 %"),
    (options.seeds == 1 or between > 0.2, f"and their counterfactuals differ: the maps of two seeds by {between:.0%}"),
    (min(errors) > 0.2, f"and miss the true map by at least {min(errors):.0%}"),
    # The encoder is free to bend z away from the normal distribution, but not to break its symmetry.
    ("problem" in (levels["normality"], levels["symmetry"]), "diagnose warns: z may be like a rotation of itself"),
])
