"""Triton's own client asks a server of Credence: triton.py HOST:PORT MODEL."""
import sys

import numpy as np
import tritonclient.http as triton

client, name = triton.InferenceServerClient(sys.argv[1]), sys.argv[2]
assert client.is_server_live() and client.is_server_ready() and client.is_model_ready(name)
meta = client.get_model_metadata(name)
assert [(i["name"], i["datatype"]) for i in meta["inputs"]] == [("age", "FP64"), ("sex", "BYTES")], meta
assert "binary_tensor_data" in client.get_server_metadata()["extensions"]
assert client.get_model_repository_index()[0]["name"] == name

ages, sexes = np.array([30.0, np.nan, 70.0]), np.array(["f", "m", "f"], dtype=object)
names = ["mean", "lower", "upper", "predicted", "at_least", "weights", "alpha"]
warnings = []


def infer(sent=True, received=True, dtype="FP64", **options):
    age = triton.InferInput("age", [3], dtype)
    age.set_data_from_numpy(ages.astype({"FP64": "f8", "FP32": "f4"}[dtype]), binary_data=sent)
    sex = triton.InferInput("sex", [3, 1], "BYTES")
    sex.set_data_from_numpy(sexes.reshape(3, 1), binary_data=sent)
    wanted = [triton.InferRequestedOutput(n, binary_data=received) for n in names]
    answer = client.infer(name, [age, sex], outputs=wanted, request_id="7", **options)
    assert answer.get_response()["id"] == "7"
    warnings.append(answer.get_response().get("parameters", {}).get("warnings"))
    return {n: answer.as_numpy(n) for n in names}


first = infer()
assert first["mean"].shape == (3, 2) and first["alpha"].shape[::2] == (3, 2), first
assert np.allclose(first["weights"].sum(axis=1), 1), first["weights"]
assert set(first["predicted"]) <= {b"no", b"yes"} and first["at_least"].dtype == bool
for other in (infer(received=False), infer(dtype="FP32"), infer(request_compression_algorithm="gzip"),
              infer(response_compression_algorithm="gzip", request_compression_algorithm="deflate")):
    for n in ("mean", "lower", "upper", "alpha"):
        assert np.array_equal(first[n], other[n]), n
narrow = infer(parameters={"level": 0.5})
assert (narrow["upper"] - narrow["lower"] <= first["upper"] - first["lower"]).all()
assert not any(warnings), warnings
sexes[0] = "z"
infer()
assert "1 of 3 values have a level that is not in the training data" in warnings[-1], warnings
try:
    client.infer("none", [triton.InferInput("age", [1], "FP64").set_data_from_numpy(np.ones(1))])
    raise AssertionError("a model that is not there answered")
except triton.InferenceServerException as e:
    assert "unknown model" in str(e), e
config = client.get_model_config(name)
assert config["name"] == name and [i["data_type"] for i in config["input"]] == ["TYPE_FP64", "TYPE_STRING"], config
stats = client.get_inference_statistics(name)["model_stats"][0]
assert stats["execution_count"] == len(warnings) and stats["inference_stats"]["success"]["ns"] > 0, stats
assert client.get_inference_statistics()["model_stats"][0]["name"] == name
