"""Generates a client from the OpenAPI document and calls it: openapi_client.py URL TOKEN FOLDER."""
import io
import subprocess
import sys

import httpx

url, token, folder = sys.argv[1:]
document = httpx.get(url + "/api/v1/openapi.json", headers={"Authorization": "Bearer " + token})
with open(folder + "/openapi.json", "wb") as f:
    f.write(document.content)
with open(folder + "/config.yml", "w") as f:
    f.write("post_hooks: []\n")
done = subprocess.run([sys.executable, "-m", "openapi_python_client", "generate", "--path", folder + "/openapi.json",
                       "--config", folder + "/config.yml", "--output-path", folder + "/client", "--fail-on-warning"],
                      capture_output=True, text=True)
assert done.returncode == 0 and "WARNING" not in done.stdout + done.stderr, done.stdout + done.stderr
sys.path.insert(0, folder + "/client")

from credence_client import AuthenticatedClient  # noqa: E402
from credence_client.api.models import list_models  # noqa: E402
from credence_client.api.predict import predict  # noqa: E402
from credence_client.models import PredictRequest  # noqa: E402
from credence_client.types import File  # noqa: E402

client = AuthenticatedClient(base_url=url, token=token)
assert list_models.sync(client=client).models[0].name == "first"
request = PredictRequest.from_dict({"items": [{"item": "a", "age": 30, "sex": "f"}], "level": 0.9})
answer = predict.sync("first", client=client, body=request)
assert answer.level == 0.9 and answer.predictions[0]["item"] == "a", answer
table = File(payload=io.BytesIO(b"item,age,sex\na,30,f\n"))
again = predict.sync("first", client=client, body=table, level=0.9)
assert again.predictions[0].to_dict() == answer.predictions[0].to_dict(), again
wrong = predict.sync_detailed("first", client=client, body=PredictRequest.from_dict({"items": []}))
assert wrong.status_code == 400, wrong
