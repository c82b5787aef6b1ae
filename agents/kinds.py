"""The table of all kinds of agents, which words and `load_bot` read.

Three sources: the kinds of this package, each offered by the module of its bot; those that a program registers; and
those of other packages that are installed, which name theirs in the entry points of the group `athenan_spiel.agents`:

    [project.entry-points."athenan_spiel.agents"]
    mykind = "my_package.agents:MYKIND"

MYKIND being an `AgentKind` of that name. Such a package is imported when its name is asked for, and not before.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

from agents.aei import AEI
from agents.alphabeta import ALPHABETA
from agents.athenan import ATHENAN
from agents.gtp import GTP
from agents.human import HUMAN
from agents.kind import AgentKind
from agents.ludii import LUDII
from agents.mcts import MCTS
from agents.openspiel import PYSPIEL
from agents.uci import UCI
from agents.uct import UCT
from agents.uniform import RANDOM
from athenan_spiel.arguments import require_kind
from athenan_spiel.errors import AgentError, shown

GROUP = "athenan_spiel.agents"
"""The group of entry points in which other packages name their kinds."""

BUILT_IN = (ATHENAN, ALPHABETA, MCTS, UCT, PYSPIEL, LUDII, GTP, UCI, AEI, RANDOM, HUMAN)
"""The kinds of this package, in the order in which messages list them."""

_KINDS: dict[str, AgentKind] = {kind.name: kind for kind in BUILT_IN}
"""All that are known already, by name."""


def known_kinds() -> tuple[AgentKind, ...]:
    """The kinds of this package, and those registered or asked for since."""
    return tuple(_KINDS.values())


def kind_names() -> list[str]:
    """The names of all kinds, those that installed packages offer included."""
    return sorted({*_KINDS, *(offer.name for offer in entry_points(group=GROUP))})


def register_kind(kind: AgentKind) -> None:
    """Let words and `load_bot` know a kind of agents, in this process.

    Raises:
        AgentError: it is none, or its name is taken.
    """
    require_kind("kind", kind, AgentKind, AgentError)
    if kind.name in kind_names():
        raise AgentError(f"a new kind of agents needs a name of its own, got {shown(kind.name)}, which is taken")
    _KINDS[kind.name] = kind


def known_kind(name: str) -> AgentKind | None:
    """The kind called so, of this package or registered; None where there is none."""
    return _KINDS.get(name)


def find_kind(name: str) -> AgentKind | None:
    """The kind called so, which an installed package may offer; None where there is none.

    Raises:
        AgentError: two packages offer it, or the one that does cannot be imported or offers something else.
    """
    if name in _KINDS:
        return _KINDS[name]
    offers = tuple(entry_points(group=GROUP, name=name))
    if not offers:
        return None
    if len(offers) > 1:
        raise AgentError(f"expected one package that offers the agents {name!r}, got {' and '.join(map(_who, offers))}")
    kind = _loaded(offers[0])
    _KINDS[name] = kind
    return kind


def _loaded(offer: EntryPoint) -> AgentKind:
    """What an entry point names.

    Raises:
        AgentError: it cannot be imported, or is no `AgentKind` of that name.
    """
    who = f"the agents {offer.name!r} of {_who(offer)}"
    try:
        kind = offer.load()
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise AgentError(f"{who} cannot be loaded from {shown(offer.value)}: {reason}") from error
    if not isinstance(kind, AgentKind):
        raise AgentError(f"{who}: expected an AgentKind at {shown(offer.value)}, got {shown(kind)}")
    if kind.name != offer.name:
        raise AgentError(f"{who}: expected a kind of that name at {shown(offer.value)}, got {shown(kind.name)}")
    return kind


def _who(offer: EntryPoint) -> str:
    return "an unnamed package" if offer.dist is None else f"the package {offer.dist.name!r}"
