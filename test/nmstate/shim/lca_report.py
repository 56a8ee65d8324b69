"""A plug-in for pytest that writes one line of JSON for each test: how it ended, and what the programs refused in it."""

import json
import os
import sys

import pytest

REPORT = os.environ["LCA_REPORT"]
RETRIES = 10  # upstream's 100 would make each failed comparison last a minute

found = {}


def pytest_collection_finish(session):
    for name, module in list(sys.modules.items()):
        if name.endswith("testlib.assertlib"):
            module.RETRY_COUNT = RETRIES
        if name.endswith("testlib.cmdlib"):
            module.format_exec_cmd_result = _describe
            _note_commands(module)


def _note_commands(cmdlib):
    """Notes each command of the suite that failed: some tests go on without what it was to make."""
    command_line, result_line = cmdlib.command_log_line, cmdlib._retcode_log_line
    last = [""]

    def command(args, cwd=None):
        last[0] = " ".join(args)
        return command_line(args, cwd)

    def result(code, err=None):
        if code != 0:
            said = (err or b"").decode("utf-8", "replace")[-500:]
            _calls().append({"verb": "command", "document": last[0], "said": f"{last[0]}: {said}"})
        return result_line(code, err)

    cmdlib.command_log_line, cmdlib._retcode_log_line = command, result


def _describe(result):
    """Upstream's own stumbles over what it is given, and hides what a command said."""
    if isinstance(result, tuple):
        return "rc={}, out={}, err={}".format(*result)
    return f"rc={result.returncode}, out={result.stdout.decode()}, err={result.stderr.decode()}"


def _write(record):
    with open(REPORT, "a", encoding="utf-8") as out:
        out.write(json.dumps(record) + "\n")


def _text(report):
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2])
    return str(report.longrepr or "")


def pytest_collectreport(report):
    if report.failed:
        _write({"test": report.nodeid, "outcome": "failed", "text": _text(report)[-6000:], "calls": [], "seconds": 0})


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item):
    _calls().clear()


def pytest_runtest_logreport(report):
    one = found.setdefault(
        report.nodeid, {"test": report.nodeid, "outcome": "passed", "text": "", "seconds": 0}
    )
    one["seconds"] += report.duration
    if report.outcome != "passed" and one["outcome"] == "passed":
        one["outcome"] = report.outcome
        one["text"] = report.when + ": " + _text(report)[-6000:]
    if report.when == "teardown":
        one["calls"] = list(_calls())
        _write(one)


def _calls():
    from libnmstate import clib_wrapper

    return clib_wrapper.calls
