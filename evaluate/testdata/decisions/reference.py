# Adds scikit-learn's numbers to reference.json: python reference.py.
import json

import sklearn
from sklearn.metrics import average_precision_score, cohen_kappa_score, roc_auc_score

text = json.load(open("reference.json"))
text["source"] = text["source"].split(", scikit-learn")[0] + ", scikit-learn " + sklearn.__version__
for s in text["sets"]:
    s["sklearn_auc"] = roc_auc_score(s["y"], s["p"])
    s["sklearn_average_precision"] = average_precision_score(s["y"], s["p"])
# Ordered classes: the tenths of a prediction against those of another, as two raters.
a, b = ([min(int(10 * x), 9) for x in text["paired"][k]] for k in "pq")
text["kappa"] = {"first": a, "second": b, "quadratic": cohen_kappa_score(a, b, weights="quadratic", labels=list(range(10)))}
with open("reference.json", "w") as f:
    f.write('{"source":' + json.dumps(text["source"]) + ',\n"sets":[\n')
    f.write(",\n".join(json.dumps(s, separators=(",", ":")) for s in text["sets"]))
    f.write('],\n"paired":' + json.dumps(text["paired"], separators=(",", ":")))
    f.write(',\n"kappa":' + json.dumps(text["kappa"], separators=(",", ":")) + "}\n")
