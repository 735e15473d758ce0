"""Writes types.arrows: an Arrow stream of pyarrow with a column of every kind that is read."""

import datetime
import decimal
import sys

import pyarrow as pa

three = lambda *values: list(values)  # noqa: E731
columns = {
    "item": pa.array(three("a", "ä\n", "")),
    "large": pa.array(three("x", None, "yz"), pa.large_string()),
    "bytes": pa.array(three(b"p", b"q", None), pa.binary()),
    "i8": pa.array(three(-1, None, 127), pa.int8()),
    "u16": pa.array(three(1, 65535, None), pa.uint16()),
    "i32": pa.array(three(-(2**31), 0, 7), pa.int32()),
    "u64": pa.array(three(2**64 - 1, 0, 5), pa.uint64()),
    "half": pa.array(three(0.5, -2.0, None), pa.float16()),
    "f32": pa.array(three(0.25, None, 1.5), pa.float32()),
    "f64": pa.array(three(0.1, float("nan"), None)),
    "flag": pa.array(three(True, None, False)),
    "price": pa.array(three(decimal.Decimal("-1.25"), None, decimal.Decimal("12345.5")), pa.decimal128(12, 2)),
    "day": pa.array(three(datetime.date(1970, 1, 3), None, datetime.date(1969, 12, 31)), pa.date32()),
    "at": pa.array(three(1_000_001, None, 2), pa.timestamp("us", "UTC")),
    "none": pa.nulls(3),
    "list": pa.array(three([1.0, None], None, []), pa.list_(pa.float64())),
    "whole": pa.array(three([1], [2, 3], None), pa.large_list(pa.int32())),
    "pair": pa.array(three([1, 2], None, [5, 6]), pa.list_(pa.float32(), 2)),
    "s": pa.array(three({"x": 1.5, "y": "u"}, None, {"x": None, "y": "v"})),
    "words": pa.array(three(["a"], None, [])),
    "map": pa.array(three([("k", 1)], None, []), pa.map_(pa.string(), pa.int64())),
    "last": pa.array(three(1.0, 2.0, 3.0)),
}
table = pa.table(columns)
with pa.ipc.new_stream(sys.argv[1], table.schema) as w:
    for batch in table.slice(0, 2).to_batches() + table.slice(2, 0).to_batches() + table.slice(2).to_batches():
        w.write_batch(batch)
