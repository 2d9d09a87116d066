#!/usr/bin/python3
"""What baselines are for: on TCGA's pairs a classifier of tissues that was trained on one condition reads the other better
after correction than before, and conditions mix. With scikit-learn, on what the program wrote."""
import baseline_common as bc
import prep_common as pc
from baseline_common import ad, np, ok, os

try:
    from sklearn.ensemble import RandomForestClassifier
except ImportError:
    pc.skip_all("scikit-learn is not installed")

path = bc.tcga()
if not path:
    pc.skip_all("the data is not there (COMP_DATA)")


def transfer(z, condition, label):
    """Accuracy on one condition of a forest trained on the other, both ways."""
    z, found = z / z.std(), []
    for source in np.unique(condition):
        here = condition == source
        forest = RandomForestClassifier(200, random_state=0).fit(z[here], label[here])
        found.append(forest.score(z[~here], label[~here]))
    return float(np.mean(found))


scores = {}
for method, arguments in (("pca", []), ("combat", []), ("harmony", []), ("mnn", []), ("celligner", ["-r", "tumor"])):
    out = os.path.join(pc.folder(), "out.h5ad")
    message = bc.comp("baseline", method, "-q", "-i", path, "-o", out, "-c", "condition", *arguments)
    ok(message == "", f"{method}: runs {message}")
    if message:
        continue
    a = ad.read_h5ad(out)
    z, condition, label = a.obsm["X_" + method], a.obs["condition"].astype(str).values, a.obs["tissue"].astype(str).values
    scores[method] = transfer(z, condition, label), bc.ilisi(z, condition)
for method in ("combat", "harmony", "mnn", "celligner"):
    if method in scores and "pca" in scores:
        (after, mixed), (before, unmixed) = scores[method], scores["pca"]
        ok(after > before + 0.02, f"{method}: tissues of the other condition {after:.3f}, uncorrected {before:.3f}")
        ok(mixed > unmixed, f"{method}: iLISI {mixed:.3f}, uncorrected {unmixed:.3f}")
pc.done()
