# Writes small.onnx with the onnx package, for TestMarshal: python small.py small.onnx
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

nodes = [
    helper.make_node(
        "LabelEncoder", ["site"], ["LabelEncoder_0"], "LabelEncoder_0", domain="ai.onnx.ml",
        keys_strings=["a", "b"], values_int64s=[0, 1], default_int64=-1),
    helper.make_node("Cast", ["LabelEncoder_0"], ["Cast_1"], "Cast_1", to=11),
    helper.make_node("Mul", ["Cast_1", "constant_0"], ["Mul_2"], "Mul_2"),
    helper.make_node("Softmax", ["input_y"], ["Softmax_3"], "Softmax_3", axis=-1),
    helper.make_node("LeakyRelu", ["Softmax_3"], ["LeakyRelu_4"], "LeakyRelu_4", alpha=0.25),
    helper.make_node("Gather", ["constant_1", "constant_2"], ["Gather_5"], "Gather_5"),
    helper.make_node("Identity", ["Mul_2"], ["y"], "y"),
]
tensors = [
    numpy_helper.from_array(numpy.array(0.5), "constant_0"),
    helper.make_tensor("constant_1", TensorProto.STRING, [2], ["no", "yes"]),
    numpy_helper.from_array(numpy.array([1, 0]), "constant_2"),
]
graph = helper.make_graph(
    nodes, "small",
    [helper.make_tensor_value_info("site", TensorProto.STRING, ["N", 1]),
     helper.make_tensor_value_info("input_y", TensorProto.FLOAT, ["N", 3, 4])],
    [helper.make_tensor_value_info("y", TensorProto.DOUBLE, ["N", 1])], tensors)
model = helper.make_model(
    graph, ir_version=8, producer_name="credence", producer_version="1", doc_string="a test",
    opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)])
helper.set_model_props(model, {"key": "value"})
open(sys.argv[1], "wb").write(model.SerializeToString(deterministic=True))
