"""Labels with Label Studio, whose ML backend is a server of ours.

Arguments: the URL of the server, its token, the folder for Label Studio's data and the configuration of the
labels. Prints the items in the order in which Label Studio asks for them, and the predictions it stored.
"""

import base64
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

server, token, folder, config = sys.argv[1:5]
user_token = "0123456789abcdef0123456789abcdef01234567"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


port = free_port()
base = f"http://127.0.0.1:{port}"


def call(method, path, body=None):
    """Calls Label Studio's API."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(base + path, data, method=method)
    request.add_header("Content-Type", "application/json")
    request.add_header("Authorization", "Token " + user_token)
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            text = answer.read()
    except urllib.error.HTTPError as e:
        raise SystemExit(f"{method} {path}: {e.code} {e.read().decode()[:2000]}")
    return json.loads(text) if text else None


def wait():
    """Waits until Label Studio answers."""
    for _ in range(1200):
        if studio.poll() is not None:
            raise SystemExit(f"Label Studio ended with {studio.returncode}")
        try:
            with urllib.request.urlopen(base + "/health", timeout=5):
                return
        except OSError:
            time.sleep(0.25)
    raise SystemExit("Label Studio does not answer")


def main():
    project = call("POST", "/api/projects", {"title": "people", "label_config": config})["id"]
    call("POST", "/api/ml", {"project": project, "url": server, "title": "credence", "auth_method": "BASIC_AUTH",
                             "basic_auth_user": "credence", "basic_auth_pass": token})
    backend = call("GET", f"/api/ml?project={project}")[0]
    if backend["state"] != "CO":
        raise SystemExit(f"the backend is not connected: {backend}")
    # The webhook that comes with a backend sends no credentials of its own.
    hook = call("GET", f"/api/webhooks/?project={project}")[0]
    basic = base64.b64encode(("credence:" + token).encode()).decode()
    call("PATCH", f"/api/webhooks/{hook['id']}/", {"url": hook["url"], "headers": {"Authorization": "Basic " + basic}})

    tasks = [{"data": {"item": f"p{i}", "age": age, "sex": sex}} for i, (age, sex) in enumerate([(25, "f"), (48, "m"), (77, "f")])]
    tasks.append({"data": {"item": "bad", "age": "unknown", "sex": "f"}})
    call("POST", f"/api/projects/{project}/import", tasks)
    view = call("POST", "/api/dm/views/", {"project": project, "data": {}})["id"]
    listed = call("GET", f"/api/tasks?project={project}&view={view}&fields=all")["tasks"]
    ids = [t["id"] for t in listed]
    call("POST", f"/api/dm/actions/?project={project}&id=retrieve_tasks_predictions",
         {"selectedItems": {"all": False, "included": ids}, "ordering": []})
    predictions = call("GET", f"/api/predictions/?project={project}")
    versions = call("GET", f"/api/ml/{backend['id']}/versions")

    def choose(label):
        return [{"from_name": "verdict", "to_name": "age", "type": "choices", "value": {"choices": [label]}}]

    made = [call("POST", f"/api/tasks/{ids[i]}/annotations/", {"result": choose(label), "lead_time": 1.5})
            for i, label in enumerate(["yes", "no", "yes"])]
    call("PATCH", f"/api/annotations/{made[1]['id']}/", {"result": choose("yes")})
    call("DELETE", f"/api/annotations/{made[2]['id']}/")
    call("POST", f"/api/tasks/{ids[2]}/annotations/", {"result": [], "was_cancelled": True})
    ordered = sorted(call("GET", f"/api/tasks?project={project}&view={view}&fields=all")["tasks"],
                     key=lambda t: (t["predictions_score"] is None, t["predictions_score"]))
    json.dump({"state": backend["state"], "version": backend["model_version"], "versions": versions["versions"], "predictions": predictions,
               "order": [t["data"]["item"] for t in ordered]}, sys.stdout)


environment = dict(os.environ, LABEL_STUDIO_BASE_DATA_DIR=folder, SSRF_PROTECTION_ENABLED="false", ML_BLOCK_LOCAL_IP="false",
                   COLLECT_ANALYTICS="false", SENTRY_DSN="", LABEL_STUDIO_USERNAME="ann@example.org", LABEL_STUDIO_PASSWORD="for this test",
                   LABEL_STUDIO_USER_TOKEN=user_token, LABEL_STUDIO_LOCAL_FILES_SERVING_ENABLED="false")
with open(os.path.join(folder, "log"), "wb") as log:
    studio = subprocess.Popen(
        [os.path.join(os.path.dirname(sys.executable), "label-studio"), "start", "--no-browser", "--data-dir", folder,
         "--internal-host", "127.0.0.1", "--port", str(port), "--username", "ann@example.org", "--password", "for this test",
         "--user-token", user_token, "--enable-legacy-api-token"],
        env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
    try:
        wait()
        main()
    finally:
        studio.terminate()
        studio.wait(30)
