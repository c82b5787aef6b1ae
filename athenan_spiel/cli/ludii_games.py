"""`athenan games --ludii`: lists Ludii's games, or shows the details of one of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table

from athenan_spiel.cli.console import output, print_json, say
from athenan_spiel.cli.waiting import Waiting
from athenan_spiel.errors import ConfigError, nearest, printable, shown

if TYPE_CHECKING:
    from ludii_bridge.catalogue import Catalogue
    from ludii_bridge.details import Details
    from ludii_bridge.verdicts import Verdict

_MAX_OTHERS = 12
"""Maximum number of names of other games listed below a game."""


def show(text: str, *, json: bool) -> None:
    """Print the games with `text` in their names. If it is the full name of a game, print the details of that game.

    Raises:
        ConfigError: no name contains `text`.
    """
    from ludii_bridge.catalogue import plain
    from ludii_bridge.report import all_names, games_here
    from ludii_bridge.verdicts import read

    swept = {verdict.name: verdict for verdict in read()}
    with Waiting("asking Ludii for its games", quiet=json):
        catalogue = games_here()
        names = all_names()
    wanted = plain(text)
    matching = [name for name in names if wanted in plain(name)]
    exact = next((name for name in matching if plain(name) == wanted), None)
    if exact is not None:
        others = [name for name in matching if name != exact]
        _show_one(exact, swept.get(exact), catalogue, others, json=json)
    elif matching:
        _show_list([swept[name] for name in matching if name in swept], [n for n in matching if n not in swept], json)
        if catalogue is None and not json:
            say("Only board games were tested; with Ludii's jar the list contains all games (`athenan ludii`).")
    else:
        more = "" if catalogue else "; with Ludii's jar more are known (`athenan ludii`)"
        raise ConfigError(
            f"expected a part of the name of one of Ludii's {len(names)} games, got {shown(text)}"
            f"{nearest(text, names) or ': `athenan games --ludii` lists all'}{more}"
        )


def rejected(text: str) -> tuple[list[tuple[str, str]], int]:
    """Returns (reason, name) for each reason why a tested game cannot be trained, and the number of tested games.

    Args:
        text: part of the names of the games.

    Raises:
        ConfigError: no name contains `text`.
    """
    from ludii_bridge.catalogue import plain
    from ludii_bridge.errors import separated
    from ludii_bridge.verdicts import read

    wanted = plain(text)
    tested = [verdict for verdict in read() if wanted in plain(verdict.name)]
    if not tested:
        raise ConfigError(
            f"expected a part of the name of one of Ludii's tested board games, got {shown(text)}: leave it out for all"
        )
    return [(why, one.name) for one in tested if one.reason for why in separated(one.reason)], len(tested)


def _show_list(swept: Sequence[Verdict], others: Sequence[str], json: bool) -> None:
    if json:
        rows = [dataclasses.asdict(verdict) | {"supported": not verdict.reason} for verdict in swept]
        print_json([*rows, *({"name": name, "reason": "not swept", "supported": None} for name in others)])
        return
    supported = [verdict for verdict in swept if not verdict.reason]
    versions = " and ".join(sorted({verdict.version for verdict in swept}))
    title = f"{len(supported)} of {len(swept)} board games of Ludii {versions} can be trained" if swept else None
    table = Table(title=title, title_justify="left")
    table.add_column("game", no_wrap=True)
    table.add_column("can be trained")
    table.add_column("tensor")
    table.add_column("maximum of legal moves", justify="right")
    for verdict in supported:
        shape = " x ".join(map(str, verdict.shape))
        table.add_row(verdict.name, "yes", shape, str(verdict.branching))
    for name in others:
        table.add_row(name, "not swept", "", "")
    for verdict in swept:
        if verdict.reason:
            table.add_row(verdict.name, f"no: {verdict.reason}", "", "", style="dim")
    output().print(table)
    if others:
        say("Only board games were tested; `athenan games --ludii NAME` tests another game.")


def _show_one(name: str, swept: Verdict | None, catalogue: Catalogue | None, others: list[str], *, json: bool) -> None:
    from ludii_bridge.catalogue import written
    from ludii_bridge.details import details
    from ludii_bridge.errors import LudiiError

    found, missing = None, ""
    try:
        with Waiting("playing random games to measure the game", quiet=json):
            found = details(name)
    except LudiiError as error:
        missing = str(error)
    folder = catalogue.folder(name) if catalogue else None
    document: dict[str, Any] = {"name": name, "written": f"ludii(game={written(name)})", "folder": folder}
    document |= _known(found) if found else _known_without_java(swept)
    document |= {"swept": swept and dataclasses.asdict(swept), "missing": missing or None, "others": others}
    if json:
        print_json(document)
        return
    output().print(_page(document))
    if others:
        rest = f" and {len(others) - _MAX_OTHERS} more" if len(others) > _MAX_OTHERS else ""
        output().print(f"Other games with this name: {', '.join(others[:_MAX_OTHERS])}{rest}")
    if missing:
        say(f"Options, outcomes, length and speed are shown if Java and Ludii are installed: {missing}")


def _known(found: Details) -> dict[str, Any]:
    """Returns the description of a game by Ludii, and measurements of random games."""
    from athenan_spiel.outcomes import offered, suggested

    known: dict[str, Any] = {"version": found.version, "trainable": not found.reasons, "reasons": list(found.reasons)}
    traits, menu = found.traits, found.menu
    if menu is not None:
        known |= {
            "options": {category: list(choices) for category, choices in menu.options.items()},
            "defaults": dict(menu.defaults),
            "rulesets": {name.removeprefix("Ruleset/"): list(given) for name, given in menu.rulesets.items()},
        }
    if traits is None:
        return known
    known["players"] = traits.players
    if not found.reasons:
        chance = traits.chance_outcomes > 0
        zero_sum = traits.players == 2
        outcome, reason = suggested(traits.players, scored=traits.scored, chance=chance, zero_sum=zero_sum)
        known |= {
            "shape": list(traits.shape),
            "channels": list(traits.channels),
            "outcomes": offered(traits.players, scored=traits.scored, pieces=True),
            "suggested_outcome": outcome,
            "suggested_because": reason,
            "measured": found.measured and dataclasses.asdict(found.measured),
        }
    return known


def _known_without_java(swept: Verdict | None) -> dict[str, Any]:
    """Return the result of a game in the published sweep."""
    if swept is None:
        return {"trainable": None}
    known: dict[str, Any] = {"version": swept.version, "trainable": not swept.reason}
    if swept.reason:
        return known | {"reasons": [swept.reason]}
    return known | {"players": swept.players, "shape": list(swept.shape)}


def _page(known: dict[str, Any]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column()

    def row(name: str, *texts: str) -> None:
        for i, text in enumerate(texts):
            table.add_row("" if i else name, printable(text))

    row("game", known["name"] + (f" (in {known['folder']})" if known["folder"] else ""))
    if known["trainable"] is None:
        row("can be trained", "not swept")
    elif known["trainable"]:
        row("can be trained", f'yes: athenan train "{known["written"]}"')
    else:
        row("can be trained", f"no: {'; '.join(known['reasons'])}")
    if "players" in known:
        row("players", str(known["players"]))
    row("options", *(_choices(name, known) for name in known.get("options", ())))
    row("rulesets", *(f"{name}: {'; '.join(options)}" for name, options in known.get("rulesets", {}).items()))
    if "shape" in known:
        row("tensor", " x ".join(map(str, known["shape"])))
    row("its channels", *known.get("channels", ()))
    if "outcomes" in known:
        row("--outcome", ", ".join(known["outcomes"]))
        row("suggested", f"{known['suggested_outcome']}: {known['suggested_because']}")
    if measured := known.get("measured"):
        row("random games", *_measured(measured))
    if swept := known["swept"]:
        verdict = "supported" if not swept["reason"] else f"not supported: {swept['reason']}"
        row("in the sweep", f"{verdict} (Ludii {swept['version']}, {swept['date']})")
    return table


def _choices(category: str, known: dict[str, Any]) -> str:
    default = known["defaults"].get(category)
    choices = (f"{choice} (default)" if choice == default else choice for choice in known["options"][category])
    return f"{category}: {', '.join(choices)}"


def _measured(found: dict[str, Any]) -> list[str]:
    mean = f"{found['mean_length']:.0f} moves on average, " if found["matches"] else "none ended; "
    return [
        f"length: {mean}{found['longest']} at most ({found['matches']} games)",
        f"legal moves: {found['mean_moves']:.0f} on average, {found['most_moves']} at most",
        f"speed: {found['moves_per_second']:.0f} moves per second on this machine",
    ]
