"""Writes the files in this folder with other programs:

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install numpy pyarrow pillow
    /tmp/venv/bin/python make.py

The Go tests know the values by formula: element k, counted in row-major order,
of every numeric array is k - 5 (k for unsigned types and IDX, k % 3 != 0 for
bool).
"""
import gzip, struct
import decimal
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
from PIL import Image

def values(t, shape):
    k = np.arange(np.prod(shape)).reshape(shape)
    if t == "b1":
        return k % 3 != 0
    return (k if t[0] == "u" else k - 5).astype(t)

for t in "b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8".split():
    np.save(f"{t}.npy", values(t, (4, 3)))
for t in "i2 u4 f2 f4 f8".split():
    np.save(f"big-{t}.npy", values(t, (4, 3)).astype(">" + t))
np.save("fortran.npy", np.asfortranarray(values("f4", (4, 2, 3))))
np.save("special.npy", np.array([[np.nan, np.inf, -np.inf, 65504, 6e-8, -0.0]], dtype="f2"))
for v in (2, 3):
    with open(f"version{v}.npy", "wb") as f:
        np.lib.format.write_array(f, values("f4", (4, 3)), version=(v, 0))
np.savez("stored.npz", x=values("f4", (4, 3)), y=np.arange(4))
np.savez_compressed("packed.npz", only=values("i2", (4, 3)))

body = bytes(range(12))
idx = struct.pack(">BBBBIII", 0, 0, 8, 3, 3, 2, 2) + body
open("images.idx", "wb").write(idx)
gzip.GzipFile("images-ubyte.gz", "wb", mtime=0).write(idx)
open("floats.idx", "wb").write(struct.pack(">BBBBII", 0, 0, 0x0D, 2, 2, 2) + np.arange(4, dtype=">f4").tobytes())

table = pa.table({
    "item": pa.array(["a", "b", "c", "d"]),
    "age": pa.array([40.5, None, 61.0, 33.25]),
    "visits": pa.array([1, 2, 3, 4], pa.int32()),
    "big": pa.array([1, 2, 2**63, 4], pa.uint64()),
    "site": pa.array(["x", "y", None, "x"]).dictionary_encode(),
    "smoker": pa.array([True, False, True, None]),
    "half": pa.array(np.array([1, 2, 3, 4], dtype="f2")),
    "emb": pa.array([[1.0, 2.0], [3.0, 4.0], [5.0, None], [7.0, 8.0]], pa.list_(pa.float32())),
    "vec": pa.array([[1.0, 2.0, 3.0]] * 4, pa.list_(pa.float64(), 3)),
})
for codec in "none snappy gzip zstd".split():
    pq.write_table(table, f"{codec}.parquet", compression=codec, row_group_size=3)
pq.write_table(pa.table({"item": ["a", "a", "b"], "rater": [1, 2, 1], "label": ["yes", "no", "yes"]}), "votes.parquet")
pq.write_table(pa.table({"item": ["a"], "x": [[[1.0]]]}), "nested.parquet")
odd = {"id": pa.array([2**63 + 1, 2**63 + 2], pa.uint64()), "price": pa.array([decimal.Decimal("-1.25"), decimal.Decimal("300.5")], pa.decimal128(20, 2)),
       "tags": [["p", "q"], ["r"]]}
pq.write_table(pa.table(odd), "odd.parquet")
pq.write_table(pa.table(odd).slice(0, 0), "empty.parquet")

gray = Image.fromarray(np.arange(6, dtype="u1").reshape(2, 3) * 50)
gray.save("gray.png")
Image.fromarray((np.arange(6, dtype="u2") * 10000).reshape(2, 3)).save("gray16.png")
rgb = np.zeros((2, 3, 3), "u1"); rgb[..., 0] = 200; rgb[0, :, 1] = 100
Image.fromarray(rgb).save("color.png")
Image.fromarray(np.full((4, 6, 3), (200, 100, 50), "u1")).save("flat.jpg", quality=95)
