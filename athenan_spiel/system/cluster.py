"""A Ray cluster that this process joins, or starts for itself.

1. Ray is an extra, and nobody imports it before `joined`.
2. It says nothing on the terminal, and leaves the handlers of signals as they were.
3. A process that is in a cluster already stays in it, so one `joined` may be inside another.
4. A cluster that was started here ends with its `joined`, or with this process, and all that it runs; if this process
   is killed, two helpers of Ray's own a minute after it.
5. Its processes import nothing from the current folder, where Ray would let them look first. What this process imports
   from, they do as well, after all that is installed: `Surroundings`.
6. Its machines have the same versions as this one of what is sent between them, and of the rules: `versions`.
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
from athenan_spiel.system.machine import cores, own_share, runs_beside
from athenan_spiel.system.stopping import SIGNALS

LOCAL = "local"
"""The address of a cluster of this machine alone, which is started and ends."""
AUTO = "auto"
"""The address of the cluster that runs on this machine, or that RAY_ADDRESS names."""
CONNECT_SECONDS = 3.0
"""How long an address may take to answer at all; Ray itself would try for half a minute."""
PROBE_SECONDS = 60.0
"""How long a node may take to load this package and a game; one that takes longer is seen when it has work."""
HERE = Path(__file__).parents[2]
"""Where this package is imported from."""
_ADDRESS = re.compile(r"(\[[0-9a-fA-F:]+\]|[^\s:/\[\]]+):\d{1,5}")


@dataclass(frozen=True)
class Site:
    """A cluster that this process is in.

    Attributes:
        is_own: it was started for this process, on this machine.
        check: what is asked on each of its machines before that has work, to say what is wrong there, or None; none:
            nothing is asked.
    """

    is_own: bool
    check: Callable[[], str | None] | None = None

    def resource(self, name: str) -> float:
        """How much of it the nodes have in all, such as "CPU"."""
        return float(ray().cluster_resources().get(name, 0.0))

    @property
    def address(self) -> str:
        """HOST:PORT, at which another process of this machine can join it."""
        return str(ray().get_runtime_context().gcs_address)

    @property
    def processors(self) -> int:
        """The cores of its machines, as far as this process may use them."""
        return cores() if self.is_own else own_share(max(1, int(self.resource("CPU"))))

    def cores_of(self, node: str) -> int:
        """The cores of one of its machines; 1 if it has gone."""
        found = (told["Resources"].get("CPU", 0) for told in ray().nodes() if told["NodeID"] == node and told["Alive"])
        return max(1, int(next(found, 1)))

    @property
    def cores_each(self) -> int:
        """Cores that have to be free for a process that does something for this one.

        0 where the cluster was started for this process alone, and where this process runs beside another one, whose
        actors may have all cores: it would wait for as long as they play.
        """
        return 0 if self.is_own or runs_beside() else 1

    def require(self) -> None:
        """Ask each of its machines now what is to be asked.

        Raises:
            ConfigError: something is wrong with one, or this version of the package is not installed there.
        """
        if self.is_own:  # this machine, which knows it
            return
        module = ray()
        remote = module.remote(_probe())
        asked = {}
        for node in module.nodes():
            if node["Alive"]:
                answer = remote.options(**on_node(node["NodeID"])).remote(pickle.dumps(self.check), versions())
                asked[answer] = node["NodeManagerHostname"]
        answered, _ = module.wait(list(asked), num_returns=len(asked), timeout=PROBE_SECONDS)
        for answer in answered:
            try:
                problem = module.get(answer)
            except module.exceptions.RayError as error:
                problem = last_line(error)
            if problem is not None:
                raise ConfigError(f"node {asked[answer]} of the cluster: {problem}")


@dataclass(frozen=True)
class Surroundings:
    """What a process of a cluster needs in order to find what this one does; may be sent there.

    Attributes:
        paths: where this process imports from.
        folder: its current one, where both are on one machine; None: elsewhere.
    """

    paths: tuple[str, ...]
    folder: str | None

    @classmethod
    def here(cls, site: Site) -> Surroundings:
        """Those of this process."""
        folder = os.path.abspath(os.curdir)
        return cls(tuple(map(os.path.abspath, sys.path)), folder if site.is_own else None)

    def enter(self) -> None:
        """Let this process look there, too."""
        sys.path += [path for path in self.paths if path not in sys.path]
        if self.folder is not None:
            os.chdir(self.folder)


def versions() -> dict[str, str]:
    """Versions that have to be the same on all machines of a cluster.

    Of Python, numpy and torch they are the first two numbers: machines that agree in these read what others send.
    """
    found = {"athenan-spiel": __version__, "Python": f"{sys.version_info.major}.{sys.version_info.minor}"}
    for name, numbers in (("open_spiel", 3), ("numpy", 2), ("torch", 2)):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = ".".join(importlib.metadata.version(name).split("+")[0].split(".")[:numbers])
    return found


def ray() -> Any:
    """Ray itself, imported now if it was not before.

    Raises:
        ConfigError: it is not installed, or cannot be imported.
    """
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        found = isinstance(error, ModuleNotFoundError) and error.name == "ray"
        problem = "is not installed" if found else f"cannot be imported ({error})"
        raise ConfigError(f"--cluster needs Ray, which {problem}: pip install 'athenan-spiel[ray]'") from None


def require_address(address: object) -> None:
    """Raise `ConfigError` for what is no address of a cluster, whether there is one or not."""
    if not isinstance(address, str) or not (address in (LOCAL, AUTO) or _ADDRESS.fullmatch(address)):
        raise ConfigError(f"a cluster must be local, auto or HOST:PORT, got {shown(address)}")


@contextlib.contextmanager
def joined(address: str, check: Callable[[], str | None] | None = None) -> Iterator[Site]:
    """This process is in the cluster at an address within.

    Args:
        address: `local`, `auto` or HOST:PORT.
        check: see `Site`; it is sent by the name of its function.

    Raises:
        ConfigError: it is no address, Ray is missing, there is no such cluster that this process could be in, or one of
            its machines has not this version of the package, or not what `check` wants.
    """
    require_address(address)
    module = ray()
    is_outermost = not module.is_initialized()
    if is_outermost:
        _join(module, address)
    try:
        site = Site(is_outermost and address == LOCAL, check)
        site.require()
        yield site
    finally:
        if is_outermost:
            with _signals_kept():
                module.shutdown()


def on_node(node: str) -> dict[str, Any]:
    """Ray's options of a task for this node alone, to be done once, and whatever else is done there.

    Args:
        node: as Ray calls it.
    """
    strategy = ray().util.scheduling_strategies.NodeAffinitySchedulingStrategy(node, soft=False)
    return {"num_cpus": 0, "max_retries": 0, "scheduling_strategy": strategy}


def last_line(error: BaseException) -> str:
    """What Ray says of an error in another process, without where that was."""
    lines = str(error).strip().splitlines()
    return shown(lines[-1].strip())[1:-1] if lines else type(error).__name__


def _join(module: Any, address: str) -> None:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address == LOCAL:
        options["include_dashboard"] = False
    try:
        with _signals_kept(), contextlib.chdir(HERE):
            if address != LOCAL:
                _require_answer(module, address)
            module.init(address=address, **options)
    except Exception as error:  # of many kinds, from deep inside Ray
        reason = getattr(error, "strerror", None) or " ".join(str(error).split()) or type(error).__name__
        what = "a local Ray cluster cannot be started" if address == LOCAL else f"no Ray cluster joined at {address!r}"
        raise ConfigError(f"--cluster: {what}: {reason}") from None


def _require_answer(module: Any, address: str) -> None:
    """Raise `OSError` unless somebody answers where the cluster is said to be."""
    where = module._private.services.canonicalize_bootstrap_address_or_die(address)
    host, _, port = where.rpartition(":")
    socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()


@contextlib.contextmanager
def _signals_kept() -> Iterator[None]:
    """Within, Ray may take signals for itself; afterwards they are whose they were."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            for number, handler in before.items():
                if handler is not None:
                    signal.signal(number, handler)


def _probe() -> Any:
    """What a node is asked; a function inside a function goes there as it is, so that it needs nothing there."""

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
        asked = pickle.loads(check)
        return None if asked is None else asked()

    return probe
