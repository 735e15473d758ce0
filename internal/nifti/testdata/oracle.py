"""Writes what nibabel reads: python oracle.py FOLDER

FOLDER gets volumes of every type and byte order with random orientations, and
index.json, which lists them and other programs' samples: the path, and of the
first volume in the canonical orientation the dimensions, the affine and the
file of its values (float64, x fastest).
"""
import gzip
import json
import os
import sys

import nibabel as nib
import numpy as np

out = sys.argv[1]
rng = np.random.default_rng(20190611)
index = []


def record(path):
    img = nib.load(path)
    if not isinstance(img, (nib.Nifti1Pair, nib.Nifti1Image, nib.Nifti2Image)):
        return
    if len(img.shape) > 4:
        return
    img = nib.as_closest_canonical(img)
    data = img.get_fdata()
    while data.ndim > 3:
        data = data[..., 0]
    while data.ndim < 3:
        data = data[..., None]
    name = os.path.join(out, f"values{len(index)}.bin")
    data.astype("<f8").ravel(order="F").tofile(name)
    index.append({"path": path, "dim": list(data.shape), "affine": img.affine[:3].tolist(), "values": name})


def rotation():
    q, r = np.linalg.qr(rng.normal(size=(3, 3)))
    return q * np.sign(np.diag(r))


# The samples that come with nibabel, and the templates of MRIcron (the Debian
# package mricron-data) where they are.
folders = [
    os.path.join(os.path.dirname(nib.__file__), "tests", "data"),
    os.environ.get("CREDENCE_VOLUMES", "/usr/share/mricron/templates"),
]
for folder in folders:
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        if name.endswith((".nii", ".nii.gz")) or name == "nifti1.hdr":
            try:
                record(os.path.join(folder, name))
            except Exception as err:  # a sample without voxels, or in colours
                print(name, err)

n = 0
for kind in ("u1", "i1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"):
    for order in "<>":
        for cls, names in ((nib.Nifti1Image, ("nii", "nii.gz")), (nib.Nifti2Image, ("nii",)), (nib.Nifti1Pair, ("img", "hdr.gz")), (nib.Nifti2Pair, ("hdr",))):
            for ext in names:
                dtype = np.dtype(order + kind)
                shape = tuple(rng.integers(1, 7, size=3)) + ((2,) if n % 3 == 0 else ())
                if kind[0] == "f":
                    data = rng.normal(size=shape)
                else:
                    info = np.iinfo(dtype)
                    data = rng.integers(info.min, info.max, size=shape, dtype=dtype.newbyteorder("="), endpoint=True)
                affine = np.eye(4)
                affine[:3, :3] = rotation() * rng.uniform(0.3, 4, size=3)
                affine[:3, 3] = rng.normal(size=3) * 50
                if n % 4 == 1:  # sheared, which a qform cannot say
                    affine[:3, :3] += rng.normal(size=(3, 3)) * 0.5
                header = cls.header_class(endianness=order)
                header.set_data_dtype(dtype)
                img = cls(data.astype(dtype), None, header)
                if n % 4 == 0:
                    img.header.set_qform(affine, 1)
                    img.header.set_sform(None, 0)
                elif n % 4 == 3:
                    img.header["pixdim"][1:4] = [2, 1, 3]  # no orientation
                else:
                    img.header.set_sform(affine, 2)
                    if n % 4 == 2:  # a qform that differs
                        img.header.set_qform(np.diag([1, -1, 1, 1]), 1)
                if n % 5 == 0:
                    img.header.set_slope_inter(0.25, -3)
                path = os.path.join(out, f"v{n}.{ext}")
                # Written by hand: nibabel's own writer would rescale the values.
                hdr = img.header.copy()
                raw = data.astype(dtype).tobytes(order="F")
                opener = gzip.open if ext.endswith(".gz") else open
                pair = ext.startswith(("img", "hdr"))
                if pair:
                    stem = path[: -len(ext)]
                    gz = ".gz" if ext.endswith(".gz") else ""
                    hdr["vox_offset"] = 16
                    with opener(stem + "hdr" + gz, "wb") as f:
                        f.write(hdr.binaryblock)
                    with opener(stem + "img" + gz, "wb") as f:
                        f.write(b"\0" * 16 + raw)
                else:
                    size = len(hdr.binaryblock)
                    hdr["vox_offset"] = size + 4 + 32
                    with opener(path, "wb") as f:
                        # an extension of 32 bytes: a comment
                        f.write(hdr.binaryblock + b"\1\0\0\0" + np.array([32, 6], order + "i4").tobytes() + b"volume".ljust(24, b"\0") + raw)
                record(path)
                n += 1
json.dump(index, open(os.path.join(out, "index.json"), "w"))
