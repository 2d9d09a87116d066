"""The whole objective restated in PyTorch: what gradients and training steps are compared with, and what speed is measured against."""
import math

import torch
import torch.nn.functional as F

MULTI_SCALE = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 5, 10, 15, 20, 25, 30, 35, 100, 1e3, 1e4, 1e5, 1e6]


def hidden(p, part, layer, x):
    y = x @ p[f"{part}.{layer}.weight"]
    y = F.batch_norm(y, None, None, p[f"{part}.{layer}.norm.weight"].flatten(), p[f"{part}.{layer}.norm.bias"].flatten(),
                     training=True, eps=1e-5)
    return F.leaky_relu(y, 0.01)


def log_q_broadcast(z, mean, scale):
    """[B, B] through a B x B x D difference, as the authors' code has it."""
    t = (z[:, None, :] - mean[None, :, :]) / scale
    return (-0.5 * t ** 2 - torch.log(torch.as_tensor(scale)) - 0.5 * math.log(2 * math.pi)).sum(-1)


def log_q_product(z, mean, scale):
    """[B, B] through one matrix product; fixed scale."""
    d2 = (z ** 2).sum(1, keepdim=True) + (mean ** 2).sum(1)[None, :] - 2 * z @ mean.T
    return -0.5 * d2 / scale ** 2 - z.shape[1] * (math.log(scale) + 0.5 * math.log(2 * math.pi))


def comp_penalty(logits, c, include_self=True, p0=False):
    same = c[:, None] == c[None, :]
    own = same if include_self else same & ~torch.eye(len(c), dtype=torch.bool)
    low = torch.tensor(float("-inf"), dtype=logits.dtype)
    other_term = torch.logsumexp(torch.where(same, low, logits), 1) - torch.log((~same).sum(1).to(logits.dtype))
    if p0:
        return -other_term.mean()
    own_term = torch.logsumexp(torch.where(own, logits, low), 1) - torch.log(own.sum(1).to(logits.dtype))
    return (own_term - other_term).mean()


def rbf(d2, config):
    if not config["multi_scale"]:
        return torch.exp(-d2 / (2 * config["mmd_scale"] ** 2))
    return sum(torch.exp(-d2 / s) for s in MULTI_SCALE) / len(MULTI_SCALE)


def mmd_penalty(x, c, config):
    d2 = ((x[:, None, :] - x[None, :, :]) ** 2).sum(-1)
    k, levels, total, pairs = rbf(d2, config), sorted(set(c.tolist())), 0.0, 0
    for i, a in enumerate(levels):
        for b in levels[i + 1:]:
            u, v = c == a, c == b
            total = total + k[u][:, u].mean() + k[v][:, v].mean() - 2 * k[u][:, v].mean()
            pairs += 1
    return total / pairs


def encoder_input(p, config, x, c, conditions):
    """What the first layer reads: x, or x less the mean of its condition, and the condition if the encoder sees it."""
    h = x - p["centre"][c] if config.get("centred") else x
    return torch.cat([h, F.one_hot(c, conditions).to(x.dtype)], 1) if config["encoder_sees_condition"] else h


def output(p, config, h, c):
    """The last layer: of a centred model with the mean of the condition."""
    out = h @ p["output.weight"] + p["output.bias"]
    return out + p["centre"][c] if config.get("centred") else out


def target_loss(p, z, target):
    """Cross-entropy of the samples whose class is known (not -1), over all samples of the batch."""
    logits = z @ p["target.weight"] + p["target.bias"]
    return F.cross_entropy(logits, target, ignore_index=-1, reduction="sum") / len(target)


def loss(p, config, x, c, eps, library, conditions, log_q=log_q_broadcast, target=None):
    """The training loss of a batch. p: tensors by name, as the model file has them; target: the class of each sample, or -1."""
    onehot = F.one_hot(c, conditions).to(x.dtype)
    layers = len(config["hidden"])
    h = encoder_input(p, config, x, c, conditions)
    for layer in range(layers):
        h = hidden(p, "encoder", layer, h)
    mean = h @ p["mean.weight"] + p["mean.bias"]
    scale = config["scale"]
    if config["learn_scale"]:
        scale = 1e-3 + F.softplus(h @ p["scale.weight"] + p["scale.bias"])
    z = mean + scale * eps
    s = torch.as_tensor(scale, dtype=x.dtype)
    kl = (0.5 * (mean ** 2 + s ** 2 - 1) - torch.log(s)).sum(1).mean()
    h = torch.cat([z, onehot], 1) if config["decoder_sees_condition"] else z
    first = None
    for layer in range(layers):
        h = hidden(p, "decoder", layer, h)
        first = h if layer == 0 else first
    out = output(p, config, h, c)
    if config["likelihood"] == "nb":
        m, theta = library[:, None] * torch.softmax(out, 1), torch.exp(p["dispersion"])
        nll = -(torch.lgamma(x + theta) - torch.lgamma(theta) - torch.lgamma(x + 1) + theta * torch.log(theta / (theta + m))
                + x * torch.log(m / (theta + m)))
    else:
        sd = 0.01 + F.softplus(h @ p["output_scale.weight"] + p["output_scale.bias"])
        nll = 0.5 * ((x - out) / sd) ** 2 + torch.log(sd) + 0.5 * math.log(2 * math.pi)
    nll = nll.sum(1).mean() if config["reduction"] == "sum" else nll.mean()
    total = nll + config["beta"] * kl
    if "target" in config["training"]:
        total = total + config["target_weight"] * target_loss(p, z, target)
    if config["penalty"] == "mmd":
        total = total + config["gamma"] * mmd_penalty(z if config["place"] == "z" else first, c, config)
    elif config["penalty"] != "none":
        blur = config["training"]["blur"][0]
        if blur > 0:
            scale = (s ** 2 + blur ** 2).sqrt()
            z = mean + scale * eps
        total = total + config["gamma"] * comp_penalty(log_q(z, mean, scale), c, config["include_self"],
                                                       config["penalty"] == "comp-p0")
    return total


def eval_hidden(p, part, layer, x):
    name = f"{part}.{layer}"
    y = F.batch_norm(x @ p[name + ".weight"], p[name + ".norm.running_mean"].flatten(), p[name + ".norm.running_var"].flatten(),
                     p[name + ".norm.weight"].flatten(), p[name + ".norm.bias"].flatten(), training=False, eps=1e-5)
    return F.leaky_relu(y, 0.01)


def encode(p, config, x, c, conditions):
    """Posterior means and scales with the running statistics. x is what the encoder reads."""
    h = encoder_input(p, config, x, c, conditions)
    for layer in range(len(config["hidden"])):
        h = eval_hidden(p, "encoder", layer, h)
    mean = h @ p["mean.weight"] + p["mean.bias"]
    if not config["learn_scale"]:
        return mean, torch.full_like(mean, config["scale"])
    return mean, 1e-3 + F.softplus(h @ p["scale.weight"] + p["scale.bias"])


def decode(p, config, z, c, conditions, library=None):
    """Expected features with the running statistics."""
    h = torch.cat([z, F.one_hot(c, conditions).to(z.dtype)], 1) if config["decoder_sees_condition"] else z
    for layer in range(len(config["hidden"])):
        h = eval_hidden(p, "decoder", layer, h)
    out = output(p, config, h, c)
    return library[:, None] * torch.softmax(out, 1) if config["likelihood"] == "nb" else out
