"""The functions that upstream's libnmstate takes from its C library, by this project's programs.

Every refusal is an error of every kind: the programs tell an administrator the reason, and no program the kind.
"""

import json
import os
import subprocess
import tempfile

from . import error
from .error import NmstateError  # noqa: F401, upstream imports it from here

NODE = "/opt/nmstate/bin/lca-cli"
DOCUMENTS = "/opt/nmstate/bin/kubectl-lca"
CALL_LIMIT = 150  # seconds

# What each test has called, for the report.
calls = []


class RefusedError(
    error.NmstateConflictError,
    error.NmstateDependencyError,
    error.NmstateInternalError,
    error.NmstateKernelIntegerRoundedError,
    error.NmstateNotImplementedError,
    error.NmstateNotSupportedError,
    error.NmstatePermissionError,
    error.NmstatePluginError,
    error.NmstateValueError,
    error.NmstateVerificationError,
):
    """What a program said when it failed."""


def _run(program, verb, *args, document=None):
    text = None if document is None else json.dumps(document)
    done = subprocess.run(
        [program, "network", verb, *args], input=text, capture_output=True, text=True, timeout=CALL_LIMIT, check=False
    )
    if done.returncode != 0:
        calls.append({"verb": verb, "document": text, "said": done.stderr[-4000:]})
        raise RefusedError(done.stderr.strip()[-4000:])
    return done.stdout


def _file(document):
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as out:
        json.dump(document, out)
    return out.name


def _with_empty_lists(state):
    """Upstream prints a list that is empty; ours leaves it out."""
    state.setdefault("interfaces", [])
    for key in ("config", "running"):
        state.setdefault("routes", {}).setdefault(key, [])
        resolver = state.setdefault("dns-resolver", {}).setdefault(key, {})
        if resolver:
            resolver.setdefault("search", [])
            resolver.setdefault("server", [])
    state.setdefault("route-rules", {}).setdefault("config", [])
    for interface in state["interfaces"]:
        for family in ("ipv4", "ipv6"):
            if interface.get(family, {}).get("enabled"):
                interface[family].setdefault("address", [])
        for port in interface.get("bridge", {}).get("port", []):
            if port.get("vlan"):
                port["vlan"].setdefault("trunk-tags", [])
    return state


def retrieve_net_state_json(
    kernel_only=False, include_status_data=False, include_secrets=False, running_config_only=False
):
    args = ["--json"]
    args += ["--kernel"] if kernel_only else []
    args += ["--show-secrets"] if include_secrets else []
    args += ["--running-config"] if running_config_only else []
    return json.dumps(_with_empty_lists(json.loads(_run(NODE, "show", *args))))


def apply_net_state(
    state, kernel_only=False, verify_change=True, save_to_disk=True, commit=True, rollback_timeout=60
):
    # The far ends of the suite's links answer for no gateway. Every change is verified: there is no other way here.
    args = ["--no-probe"]
    args += ["--kernel"] if kernel_only else []
    args += [] if save_to_disk else ["--memory-only"]
    args += [] if commit else ["--no-commit", "--timeout", str(rollback_timeout)]
    _run(NODE, "apply", *args, "-", document=state)


def commit_checkpoint(checkpoint):
    _run(NODE, "commit")


def rollback_checkpoint(checkpoint):
    _run(NODE, "rollback")


def gen_conf(state):
    return _run(NODE, "gen-conf", "-", document=state)


def gen_diff(new_state, old_state):
    return _run(DOCUMENTS, "diff", _file(new_state), "-c", _file(old_state), "--json")


def net_state_serialize(state, use_yaml=True):
    return _run(DOCUMENTS, "format", "-", *([] if use_yaml else ["--json"]), document=state)


def net_state_from_policy(policy, cur_state):
    return _run(DOCUMENTS, "policy", _file(policy), "-c", _file(cur_state), "--json")
