"""Writes ONNX graphs of the shape of known backbones, with random weights: graphs.py FOLDER [resnet18]

resnet.onnx and vit.onnx take pixel_values [batch, 3, height, width], resnet-nhwc.onnx [batch, 32, 32, 3], and bert/model.onnx
takes input_ids, attention_mask and token_type_ids [batch, sequence]. resnet18 writes one of the full size instead.
"""

import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

rng = np.random.default_rng(36)


class Graph:
    """Collects nodes and weights."""

    def __init__(self):
        self.nodes, self.weights, self.n = [], [], 0

    def name(self):
        self.n += 1
        return f"t{self.n}"

    def weight(self, *shape, scale=None, values=None):
        if values is None:
            scale = scale or 1 / np.sqrt(np.prod(shape[1:]) if len(shape) > 1 else 1)
            values = rng.normal(0, scale, shape).astype(np.float32)
        name = self.name()
        self.weights.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def op(self, kind, *inputs, out=None, **attributes):
        out = out or self.name()
        self.nodes.append(helper.make_node(kind, list(inputs), [out], **attributes))
        return out

    def ints(self, *values):
        return self.weight(values=np.array(values, np.int64))

    def save(self, path, inputs, outputs):
        info = lambda pair: helper.make_tensor_value_info(pair[0], pair[1], pair[2])
        graph = helper.make_graph(self.nodes, "backbone", [info(i) for i in inputs], [info(o) for o in outputs], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(model)
        onnx.save(model, path)


def conv(g, x, cin, cout, k, stride=1, relu=True):
    x = g.op("Conv", x, g.weight(cout, cin, k, k), g.weight(cout, scale=0.1), kernel_shape=[k, k], strides=[stride, stride], pads=[k // 2] * 4)
    return g.op("Relu", x) if relu else x


def resnet(path, widths, blocks, stem=7, nhwc=None):
    g = Graph()
    x = "pixel_values"
    if nhwc:
        x = g.op("Transpose", x, perm=[0, 3, 1, 2])
    x = conv(g, x, 3, widths[0], stem, 2)
    x = g.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    cin = widths[0]
    for stage, width in enumerate(widths):
        for block in range(blocks):
            stride = 2 if stage > 0 and block == 0 else 1
            y = conv(g, conv(g, x, cin, width, 3, stride), width, width, 3, relu=False)
            if cin != width or stride != 1:
                x = conv(g, x, cin, width, 1, stride, relu=False)
            x, cin = g.op("Relu", g.op("Add", x, y)), width
    g.op("Identity", x, out="feature_map")
    x = g.op("GlobalAveragePool", x)
    g.op("Flatten", x, out="pooler_output")
    shape = ["batch", nhwc, nhwc, 3] if nhwc else ["batch", 3, "height", "width"]
    g.save(path, [("pixel_values", TensorProto.FLOAT, shape)],
           [("feature_map", TensorProto.FLOAT, ["batch", widths[-1], None, None]), ("pooler_output", TensorProto.FLOAT, ["batch", widths[-1]])])


def norm(g, x, d):
    return g.op("LayerNormalization", x, g.weight(values=np.ones(d, np.float32)), g.weight(d, scale=0.1), axis=-1, epsilon=1e-6)


def linear(g, x, cin, cout):
    return g.op("Add", g.op("MatMul", x, g.weight(cin, cout, scale=1 / np.sqrt(cin))), g.weight(cout, scale=0.1))


def transformer(g, x, d, heads, layers, mask=None):
    split = g.ints(0, 0, heads, d // heads)
    for _ in range(layers):
        y = norm(g, x, d)
        q, k, v = [g.op("Transpose", g.op("Reshape", linear(g, y, d, d), split), perm=p) for p in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])]
        a = g.op("Mul", g.op("MatMul", q, k), g.weight(values=np.float32(1 / np.sqrt(d // heads))))
        if mask:
            a = g.op("Add", a, mask)
        y = g.op("Transpose", g.op("MatMul", g.op("Softmax", a, axis=-1), v), perm=[0, 2, 1, 3])
        x = g.op("Add", x, linear(g, g.op("Reshape", y, g.ints(0, 0, d)), d, d))
        y = linear(g, norm(g, x, d), d, 4 * d)
        y = g.op("Mul", y, g.op("Sigmoid", y))
        x = g.op("Add", x, linear(g, y, 4 * d, d))
    return norm(g, x, d)


def vit(path, size=32, patch=8, d=48, heads=4, layers=2):
    g = Graph()
    n = (size // patch) ** 2
    x = g.op("Conv", "pixel_values", g.weight(d, 3, patch, patch), g.weight(d, scale=0.1), kernel_shape=[patch, patch], strides=[patch, patch])
    x = g.op("Transpose", g.op("Reshape", x, g.ints(1, d, n)), perm=[0, 2, 1])
    x = g.op("Concat", g.weight(1, 1, d, scale=1), x, axis=1)
    x = g.op("Add", x, g.weight(1, n + 1, d, scale=1))
    g.op("Identity", transformer(g, x, d, heads, layers), out="last_hidden_state")
    g.save(path, [("pixel_values", TensorProto.FLOAT, [1, 3, size, size])], [("last_hidden_state", TensorProto.FLOAT, [1, n + 1, d])])


def bert(path, vocabulary, d=48, heads=4, layers=2, most=512):
    g = Graph()
    words = g.op("Gather", g.weight(vocabulary, d, scale=1), "input_ids")
    kinds = g.op("Gather", g.weight(2, d, scale=1), "token_type_ids")
    length = g.op("Gather", g.op("Shape", "input_ids"), g.weight(values=np.int64(1)))
    places = g.op("Slice", g.weight(most, d, scale=1), g.ints(0), g.op("Unsqueeze", length, g.ints(0)), g.ints(0))
    x = norm(g, g.op("Add", g.op("Add", words, kinds), places), d)
    mask = g.op("Sub", g.weight(values=np.float32(1)), g.op("Cast", "attention_mask", to=TensorProto.FLOAT))
    mask = g.op("Unsqueeze", g.op("Mul", mask, g.weight(values=np.float32(-1e9))), g.ints(1, 2))
    g.op("Identity", transformer(g, x, d, heads, layers, mask), out="last_hidden_state")
    ids = ["batch", "sequence"]
    g.save(path, [(n, TensorProto.INT64, ids) for n in ("input_ids", "attention_mask", "token_type_ids")],
           [("last_hidden_state", TensorProto.FLOAT, ids + [d])])


def main(folder, *what):
    os.makedirs(os.path.join(folder, "bert"), exist_ok=True)
    if "resnet18" in what:
        resnet(os.path.join(folder, "resnet18.onnx"), [64, 128, 256, 512], 2)
        return
    resnet(os.path.join(folder, "resnet.onnx"), [8, 16, 32], 2)
    resnet(os.path.join(folder, "resnet-nhwc.onnx"), [8, 16], 1, nhwc=32)
    vit(os.path.join(folder, "vit.onnx"))
    bert(os.path.join(folder, "bert", "model.onnx"), 4000)


main(*sys.argv[1:])
