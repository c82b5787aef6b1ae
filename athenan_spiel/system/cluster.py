"""A Ray cluster that this process joins, or starts for itself.

1. Ray is an extra, and is imported by `join_cluster` at the earliest.
2. Ray prints nothing on the terminal, and signal handlers stay as they were.
3. A process that has joined a cluster stays in it, so contexts of `join_cluster` may be nested.
4. A cluster started here ends with its context or with this process, and with it everything that it runs. If this
   process is killed, two of Ray's own processes end up to a minute later.
5. Processes of the cluster import nothing from the current folder, which Ray would search first. After the installed
   packages, they search the folders from which this process imports (`DriverEnvironment`).
6. All machines have the same versions of the rules and of everything that is sent between them (`versions`).
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import logging
import os
import pickle
import re
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from athenan_spiel import __version__
from athenan_spiel.errors import ConfigError, shown
from athenan_spiel.system.machine import cores, is_limited, within_limit
from athenan_spiel.system.stopping import SIGNALS

LOCAL = "local"
"""Address of a cluster on this machine, started for the caller."""
AUTO = "auto"
"""Address of the cluster that runs on this machine, or that RAY_ADDRESS names."""
CONNECT_SECONDS = 3.0
"""Time limit for a response from an address, in seconds; Ray itself would wait for half a minute."""
PROBE_SECONDS = 60.0
"""Time limit for a node to load this package and a game, in seconds. A slower node is checked when it gets work."""
PACKAGE_PARENT = Path(__file__).parents[2]
"""Folder from which this package is imported."""
_ADDRESS = re.compile(r"(\[[0-9a-fA-F:]+\]|[^\s:/\[\]]+):\d{1,5}")


@dataclass(frozen=True)
class Cluster:
    """A cluster that this process has joined.

    Attributes:
        is_own: whether it was started for this process, on this machine.
        check: called on each machine before it gets work; returns the problem of the machine, or None.
    """

    is_own: bool
    check: Callable[[], str | None] | None = None

    def resource(self, name: str) -> float:
        """Returns the total amount of a resource such as "CPU"."""
        return float(ray().cluster_resources().get(name, 0.0))

    @property
    def address(self) -> str:
        """HOST:PORT by which another process of this machine can join the cluster."""
        return str(ray().get_runtime_context().gcs_address)

    @property
    def processors(self) -> int:
        """Number of cores that this process may use."""
        return cores() if self.is_own else within_limit(max(1, int(self.resource("CPU"))))

    def cores_of(self, node: str) -> int:
        """Returns the number of cores of a node; 1 if the node is lost."""
        found = (each["Resources"].get("CPU", 0) for each in ray().nodes() if each["NodeID"] == node and each["Alive"])
        return max(1, int(next(found, 1)))

    @property
    def cores_each(self) -> int:
        """Number of cores reserved for each task.

        It is 0 if the cluster was started for this process. It is also 0 if this process evaluates a run in progress,
        whose actors may reserve all cores, as tasks would then wait for the end of the run.
        """
        return 0 if self.is_own or is_limited() else 1

    def check_nodes(self) -> None:
        """Call `check` on each machine, and compare versions.

        Raises:
            ConfigError: a machine has a problem or another version.
        """
        if self.is_own:  # this machine
            return
        module = ray()
        remote = module.remote(_probe())
        hosts = {}
        for node in module.nodes():
            if node["Alive"]:
                answer = remote.options(**on_node(node["NodeID"])).remote(pickle.dumps(self.check), versions())
                hosts[answer] = node["NodeManagerHostname"]
        answered, _ = module.wait(list(hosts), num_returns=len(hosts), timeout=PROBE_SECONDS)
        for answer in answered:
            try:
                problem = module.get(answer)
            except module.exceptions.RayError as error:
                problem = last_line(error)
            if problem is not None:
                raise ConfigError(f"node {hosts[answer]} of the cluster: {problem}")


@dataclass(frozen=True)
class DriverEnvironment:
    """Import paths and folder of this process, for the processes of a cluster. Can be pickled.

    Attributes:
        paths: this process's `sys.path`.
        folder: current folder of this process; None if the others may be on other machines.
    """

    paths: tuple[str, ...]
    folder: str | None

    @classmethod
    def here(cls, cluster: Cluster) -> DriverEnvironment:
        """Returns the environment of this process."""
        folder = os.path.abspath(os.curdir)
        return cls(tuple(map(os.path.abspath, sys.path)), folder if cluster.is_own else None)

    def enter(self) -> None:
        """Apply the environment to the current process."""
        sys.path += [path for path in self.paths if path not in sys.path]
        if self.folder is not None:
            os.chdir(self.folder)


def versions() -> dict[str, str]:
    """Returns the versions that must be equal on all machines of a cluster.

    For Python, numpy and torch only the first two numbers count: with the same two, machines can exchange data.
    """
    found = {"athenan-spiel": __version__, "Python": f"{sys.version_info.major}.{sys.version_info.minor}"}
    for name, numbers in (("open_spiel", 3), ("numpy", 2), ("torch", 2)):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = ".".join(importlib.metadata.version(name).split("+")[0].split(".")[:numbers])
    return found


def ray() -> Any:
    """Import Ray and return it.

    Raises:
        ConfigError: Ray is not installed, or cannot be imported.
    """
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        found = isinstance(error, ModuleNotFoundError) and error.name == "ray"
        problem = "is not installed" if found else f"cannot be imported ({error})"
        raise ConfigError(f"--cluster needs Ray, which {problem}: pip install 'athenan-spiel[ray]'") from None


def require_address(address: object) -> None:
    """Raise `ConfigError` unless `address` has the form of a cluster's address."""
    if not isinstance(address, str) or not (address in (LOCAL, AUTO) or _ADDRESS.fullmatch(address)):
        raise ConfigError(f"a cluster must be local, auto or HOST:PORT, got {shown(address)}")


@contextlib.contextmanager
def join_cluster(address: str, check: Callable[[], str | None] | None = None) -> Iterator[Cluster]:
    """Context in which this process has joined a cluster.

    Args:
        address: `local`, `auto` or HOST:PORT.
        check: see `Cluster`. It is pickled, so it must be importable on all machines.

    Raises:
        ConfigError: the address is invalid, Ray is missing, there is no such cluster, this machine is not part of it,
            or one of its machines has another version or a problem found by `check`.
    """
    require_address(address)
    module = ray()
    is_outermost = not module.is_initialized()
    if is_outermost:
        _join(module, address)
    try:
        cluster = Cluster(is_outermost and address == LOCAL, check)
        cluster.check_nodes()
        yield cluster
    finally:
        if is_outermost:
            with _signals_kept():
                module.shutdown()


def on_node(node: str) -> dict[str, Any]:
    """Returns Ray's options for a task that runs once, on the given node, without waiting for a free core.

    Args:
        node: Ray's identifier of the node.
    """
    strategy = ray().util.scheduling_strategies.NodeAffinitySchedulingStrategy(node, soft=False)
    return {"num_cpus": 0, "max_retries": 0, "scheduling_strategy": strategy}


def last_line(error: BaseException) -> str:
    """Returns the last line of Ray's message about an error in another process, without the traceback."""
    lines = str(error).strip().splitlines()
    return shown(lines[-1].strip())[1:-1] if lines else type(error).__name__


def _join(module: Any, address: str) -> None:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address == LOCAL:
        options["include_dashboard"] = False
    try:
        with _signals_kept(), contextlib.chdir(PACKAGE_PARENT):
            if address != LOCAL:
                _require_answer(module, address)
            module.init(address=address, **options)
    except Exception as error:  # Ray raises many types
        reason = getattr(error, "strerror", None) or " ".join(str(error).split()) or type(error).__name__
        problem = (
            "a local Ray cluster cannot be started" if address == LOCAL else f"no Ray cluster joined at {address!r}"
        )
        raise ConfigError(f"--cluster: {problem}: {reason}") from None


def _require_answer(module: Any, address: str) -> None:
    """Raise `OSError` if no process responds at the address."""
    found = module._private.services.canonicalize_bootstrap_address_or_die(address)
    host, _, port = found.rpartition(":")
    socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()


@contextlib.contextmanager
def _signals_kept() -> Iterator[None]:
    """Context in which Ray may replace signal handlers; they are restored afterwards."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            for number, handler in before.items():
                if handler is not None:
                    signal.signal(number, handler)


def _probe() -> Any:
    """Returns the function that checks a node.

    Ray sends a nested function by value, so it runs even if the node lacks this package.
    """

    def probe(check: bytes, expected: dict[str, str]) -> str | None:
        import pickle

        try:
            from athenan_spiel.system.cluster import versions
        except ImportError:
            return (
                f"expected athenan-spiel {expected['athenan-spiel']} as here, and there is none there, or an older one"
            )
        found = versions()
        for name, version in expected.items():
            if found.get(name) != version:
                return f"expected {name} {version} as here, got {found.get(name)}"
        function = pickle.loads(check)
        return None if function is None else function()

    return probe
