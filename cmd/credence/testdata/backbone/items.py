"""Writes sixty photographs and comments with votes, in the current folder."""

import csv
import os

import numpy as np
from PIL import Image

rng = np.random.default_rng(36)
os.makedirs("photos", exist_ok=True)
tables = {name: csv.writer(open(name + ".csv", "w")) for name in ("votes", "comments", "comment-votes")}
tables["votes"].writerow(["item", "label"])
tables["comments"].writerow(["id", "comment", "age"])
tables["comment-votes"].writerow(["item", "label"])
for i in range(60):
    p = rng.random()
    pixels = np.clip(rng.normal(110, 30, (50, 60, 3)) + np.array([120 * p, 0, 0]), 0, 255).astype(np.uint8)
    Image.fromarray(pixels).save(f"photos/{i:02d}." + ("png" if i % 2 else "jpg"))
    words = [rng.choice(["lovely", "great", "fine"] if rng.random() < p else ["awful", "poor", "sad"]) for _ in range(rng.integers(3, 9))]
    tables["comments"].writerow([f"c{i}", " ".join(words) + ".", rng.integers(18, 90)])
    for _ in range(3):
        tables["votes"].writerow([f"{i:02d}", "red" if rng.random() < p else "other"])
        tables["comment-votes"].writerow([f"c{i}", "good" if rng.random() < p else "bad"])
