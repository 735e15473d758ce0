"""A real cluster of Spark, which loses a worker in the middle of predicting and of training.

Called by ``.ci/spark`` with a folder for its files and the number of rows to time.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyspark
from pyarrow import parquet
from pyspark.sql import SparkSession

import credence.spark

warnings.simplefilter("ignore")
HERE = Path(sys.argv[1])
ROWS = int(sys.argv[2])
BINARY = os.environ["CREDENCE_BINARY"]
SPARK = Path(pyspark.__file__).parent
TICKS = os.sysconf("SC_CLK_TCK")


def say(text: str) -> None:
    print(f"   {time.strftime('%H:%M:%S')}  {text}", flush=True)


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def until(condition: Callable[[], object], what: str, seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise SystemExit(f"spark: waited in vain for {what}")
        time.sleep(0.1)


class Cluster:
    """A master and workers, each a process in a session of its own."""

    def __init__(self) -> None:
        self.port = free_port()
        self.url = f"spark://127.0.0.1:{self.port}"
        self.workers: list[subprocess.Popen[bytes]] = []
        self.count = 0
        self.master = self.start("master.Master", "--port", str(self.port), "--webui-port", str(free_port()))
        for _ in range(2):
            self.add()

    def start(self, name: str, *args: str) -> subprocess.Popen[bytes]:
        self.count += 1
        log = (HERE / f"{name}-{self.count}.log").open("wb")
        return subprocess.Popen(
            [SPARK / "bin" / "spark-class", f"org.apache.spark.deploy.{name}", "--host", "127.0.0.1", *args],
            stdout=log,
            stderr=log,
            start_new_session=True,
        )

    def add(self) -> None:
        work = HERE / f"work-{self.count}"
        args = ("--cores", "1", "--memory", "1g", "--work-dir", str(work), "--webui-port", str(free_port()))
        self.workers.append(self.start("worker.Worker", *args, self.url))

    def running(self, word: str) -> list[subprocess.Popen[bytes]]:
        """Returns the workers that run a process with a word on its command line."""
        return [w for w in self.workers if any(word in command(pid) for pid in descendants(w.pid))]

    def lose(self, worker: subprocess.Popen[bytes]) -> None:
        """Kills a worker with all that it started."""
        self.workers.remove(worker)
        for pid in [worker.pid, *descendants(worker.pid)]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        worker.wait()
        say(f"killed a worker (process {worker.pid}) and what it ran")

    def stop(self) -> None:
        for p in [*self.workers, self.master]:
            p.terminate()
            p.wait()


def stat(pid: int | str) -> list[str]:
    """Returns what the system counts of a process, from its state on."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return []


def descendants(pid: int) -> list[int]:
    found: list[int] = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (fields := stat(entry)) and int(fields[1]) == pid:
            found += [int(entry), *descendants(int(entry))]
    return found


def command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def cpu(pid: int) -> float:
    """Returns the CPU time of a process and of its children that have ended."""
    return sum(map(int, stat(pid)[11:15])) / TICKS


def make_items(folder: Path, rows: int, files: int, seed: int) -> None:
    r = np.random.default_rng(seed)
    folder.mkdir(parents=True)
    for k in range(files):
        lo, hi = rows * k // files, rows * (k + 1) // files
        table = {"item": [f"i{j}" for j in range(lo, hi)]}
        table |= {name: r.normal(size=hi - lo).round(4) for name in "abc"}
        table["site"] = r.choice(["x", "y", "z"], hi - lo)
        parquet.write_table(pa.table(table), folder / f"part-{k:05}.parquet")


def make_votes(items: Path, path: Path) -> None:
    r = np.random.default_rng(1)
    t = parquet.read_table(items)
    p = 1 / (1 + np.exp(-(t["a"].to_numpy() - t["b"].to_numpy() * t["c"].to_numpy())))
    item = np.repeat(t["item"].to_numpy(zero_copy_only=False), 4)
    label = np.where(r.random(len(item)) < np.repeat(p, 4), "yes", "no")
    parquet.write_table(pa.table({"item": item, "label": label}), path)


def binary(*args: object) -> float:
    """Runs the binary and returns its CPU time."""
    before = os.times()
    subprocess.run([BINARY, *map(str, args)], check=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def losing(cluster: Cluster, word: str, ready: Callable[[], object]) -> threading.Thread:
    """Kills a worker that runs a process with a word on its command line, once something is ready."""

    def kill() -> None:
        until(lambda: ready() and cluster.running(word), f"a worker that runs {word}")
        cluster.lose(cluster.running(word)[0])

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    return thread


def test_predict(spark: SparkSession, cluster: Cluster, model: Path) -> None:
    items = HERE / "predict"
    make_items(items, 200_000, 12, 3)
    binary("predict", model, items, "--level", 0.9, "-o", HERE / "one.parquet")
    frame = spark.read.parquet(str(items))
    tracker = spark.sparkContext.statusTracker()

    def under_way() -> bool:
        stages = [tracker.getStageInfo(s) for s in tracker.getActiveStageIds()]
        return any(s and 2 <= s.numCompletedTasks < s.numTasks - 2 for s in stages)

    workers = len(cluster.workers)
    thread = losing(cluster, "predict", under_way)
    got = credence.spark.predict(frame, model, level=0.9).toArrow()
    thread.join(10)
    if len(cluster.workers) == workers:
        raise SystemExit("spark: no worker was lost")
    want = parquet.read_table(HERE / "one.parquet")
    order = [("item", "ascending"), ("class", "ascending")]
    if not got.cast(want.schema).sort_by(order).equals(want.sort_by(order)):
        raise SystemExit("spark: predictions differ from those of credence predict")
    say(f"200,000 items predicted, a worker lost: {got.num_rows:,} rows equal to those of credence predict")


def test_fit(spark: SparkSession, cluster: Cluster, items: Path, votes: Path) -> None:
    out = HERE / "fit"
    workers = len(cluster.workers)
    thread = losing(cluster, "--member=", lambda: list(out.glob("member-*/.lock")))
    options = {"epochs": 300, "patience": 0, "seed": 3}
    frames = spark.read.parquet(str(items)), spark.read.parquet(str(votes))
    run = Path(credence.spark.fit(*frames, out, members=3, **options))
    thread.join(10)
    if len(cluster.workers) == workers:
        raise SystemExit("spark: no worker was lost")
    data = "--data", out / "data/items", "--votes", out / "data/votes"
    one = HERE / "one"
    binary("train", *data, "--ensemble", 3, "--out", one, "-q", *(f"--{k}={v}" for k, v in options.items()))
    names = ("model.credence", "metrics.json", "history.csv")
    for name in names:
        if (run / name).read_bytes() != (one / name).read_bytes():
            raise SystemExit(f"spark: {name} differs from that of credence train")
    say(f"an ensemble of 3 trained, a worker lost: {', '.join(names)} equal to those of credence train")


def seconds() -> float:
    """Returns the CPU time of the cluster, the driver included, and of all that it ran."""
    return sum(cpu(pid) for pid in descendants(os.getpid()))


def test_overhead(spark: SparkSession, model: Path) -> None:
    """Compares CPU times, from Parquet to Parquet, in turn: other programs change the clock far more."""
    items, out = HERE / "many", HERE / "many-out"
    make_items(items, ROWS, 8, 5)
    frame = spark.read.parquet(str(items))
    shares: list[float] = []
    for k in range(4):
        start = time.monotonic()
        alone = binary("predict", model, items, "-o", HERE / "many.parquet", "--overwrite")
        middle, before = time.monotonic(), seconds()
        # Numbers that are all different gain nothing from the dictionaries of Parquet, which the binary does not write either.
        writer = credence.spark.predict(frame, model).write.mode("overwrite").option("parquet.enable.dictionary", "false")
        writer.parquet(str(out))
        end, together = time.monotonic(), seconds() - before
        say(
            f"{ROWS:,} rows{', Spark being just started' if k == 0 else ''}: credence predict {alone:.1f} s of CPU ({middle - start:.1f} s), "
            f"Spark {together:.1f} s of CPU ({end - middle:.1f} s): {together / alone - 1:+.0%}"
        )
        if k > 0:
            shares.append(together / alone)
    one, many = parquet.read_table(HERE / "many.parquet"), parquet.read_table(out)
    order = [("item", "ascending"), ("class", "ascending")]
    if not many.cast(one.schema).sort_by(order).equals(one.sort_by(order)):
        raise SystemExit("spark: predictions differ from those of credence predict")
    share = sorted(shares)[len(shares) // 2]
    say(f"overhead of Spark: {share - 1:+.0%} of the CPU time, the median of {len(shares)}; rows equal")
    if ROWS >= 1_000_000 and share > 1.3:
        raise SystemExit("spark: the overhead is above 30%")


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("spark: stopped"))
    items, votes = HERE / "items", HERE / "votes.parquet"
    make_items(items, 5000, 4, 1)
    make_votes(items, votes)
    model = HERE / "model"
    binary("train", "--data", items, "--votes", votes, "--epochs", 5, "--out", model, "-q")
    cluster = Cluster()
    try:
        spark = (
            SparkSession.builder.master(cluster.url)
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.executor.cores", "1")
            .config("spark.executor.memory", "512m")
            .config("spark.executor.extraJavaOptions", "-XX:+UseParallelGC")
            .config("spark.sql.files.maxPartitionBytes", "2m")
            .getOrCreate()
        )
        spark.sparkContext.setLogLevel("OFF")

        def complete() -> bool:
            return len(spark.sparkContext._jsc.sc().statusTracker().getExecutorInfos()) == 3  # the driver is one

        until(complete, "two executors")
        say(f"Spark {spark.version}: a master and two workers of one core")
        test_predict(spark, cluster, model)
        cluster.add()
        until(complete, "another executor")
        test_fit(spark, cluster, items, votes)
        cluster.add()
        until(complete, "another executor")
        test_overhead(spark, model)
        spark.stop()
    finally:
        cluster.stop()


if __name__ == "__main__":
    main()
