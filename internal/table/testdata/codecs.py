"""Writes Parquet files with every codec, encoding and page version, whose values the
tests know: python codecs.py FOLDER ROWS...

The files codec-*.parquet beside this one were made so, with 60 and 600 rows, and are kept for
machines without pyarrow. Made with pyarrow 26.0.1."""
import decimal, os, sys
import numpy as np, pyarrow as pa, pyarrow.parquet as pq

ENCODINGS = {
    "dictionary": {"use_dictionary": True},
    "plain": {"use_dictionary": False},
    "delta": {"use_dictionary": False, "column_encoding": {
        "i32": "DELTA_BINARY_PACKED", "i64": "DELTA_BINARY_PACKED", "f32": "BYTE_STREAM_SPLIT",
        "f64": "BYTE_STREAM_SPLIT", "text": "DELTA_BYTE_ARRAY", "word": "DELTA_LENGTH_BYTE_ARRAY"}},
}


def table(n):
    i = np.arange(n, dtype=np.uint64)
    x = i * np.uint64(2654435761) % np.uint64(1 << 32)
    cents = [decimal.Decimal(int(v)).scaleb(-2) for v in x % 100000]
    lists = [None if k % 6 == 2 else [float(v % 256), float(k % 100)] for k, v in enumerate(x.tolist())]
    return pa.table({
        "item": pa.array([f"i{k}" for k in range(n)]),
        "i32": pa.array((x % np.uint64(1 << 31)).astype(np.int32), mask=i % 7 == 3),
        "i64": pa.array((x * np.uint64(1048583)).astype(np.int64)),
        "u64": pa.array(x + np.uint64(1 << 63)),
        "f32": pa.array((x >> np.uint64(8)).astype(np.float32)),
        "f64": pa.array(x / 7.0, mask=i % 9 == 4),
        "f16": pa.array((x % np.uint64(2048)).astype(np.float16)),
        "low": pa.array((x % np.uint64(4)).astype(np.int64)),
        "same": pa.array(np.full(n, 5.0)),
        "none": pa.array([None] * n, pa.float64()),
        "flag": pa.array(x % np.uint64(3) == 0),
        "text": pa.array([None if k % 5 == 1 else f"s{v}" for k, v in enumerate(x.tolist())]),
        "word": pa.array([f"w{v % 10}" for v in x.tolist()]),
        "list": pa.array(lists, pa.list_(pa.float32())),
        "cents": pa.array(cents, pa.decimal128(12, 2)),
    })


os.chdir(sys.argv[1])
for n in map(int, sys.argv[2:]):
    t = table(n)
    for codec in ["none", "snappy", "gzip", "brotli", "zstd", "lz4"]:
        for encoding, options in ENCODINGS.items():
            if n > 10000 and encoding != "plain":
                continue
            for version in ["1.0", "2.0"]:
                # A few row groups and a few pages each.
                pq.write_table(t, f"codec-{codec}-{encoding}-{version[0]}-{n}.parquet", compression=codec,
                               data_page_version=version, row_group_size=max(1, n * 2 // 5), data_page_size=max(64, n),
                               write_page_checksum=version == "2.0", **options)
