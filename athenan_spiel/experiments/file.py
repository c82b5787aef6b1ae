"""Experiment files: TOML, parsed strictly. Every error message has the line, and errors are found
before anything is trained.

    name = "searches"
    games = ["hex(board_size=5)", "breakthrough(rows=6,columns=6)"]
    repetitions = 4

    [training]                    # common to all variants: a preset and changes to it
    preset = "quick"
    seconds = 60
    search.seconds = 0.05

    [variants."Descent"]          # changes of one variant to [training] and [play]
    [variants."MCTS"]             # or its own preset in place of that of [training]
    search.algorithm = "mcts"
    except = ["hex(board_size=5)"]
    play = {algorithm = "mcts", seconds = 0.1}

    [fixed]                       # opponents that are not trained here: specs, or tables with `spec`,
                                  # and optionally `name`, `games` and `variants`
    opponents = ["uct:160", {spec = "gtp:gnugo --mode gtp@1s", name = "GNU Go", games = ["hex(board_size=5)"]}]
    stages = "all"
    play = {algorithm = "ubfm", decision = "safest", seconds = 1}

A limit of the search (seconds, iterations, evaluations, network_seconds) or of the training (seconds, matches) replaces
all limits of the same kind that a table inherits. `Overrides` may replace some settings.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from athenan_spiel.arena.toml_tables import LONGEST_NAME, TomlTables, dotted, with_differences
from athenan_spiel.config import TrainingConfig
from athenan_spiel.config.converter import KeyPath, SettingError, names_of, read_settings, renewed, to_plain
from athenan_spiel.config.training import MAX_SPEC_CHARACTERS
from athenan_spiel.errors import AthenanError, ConfigError, nearest, shown
from athenan_spiel.experiments.plan import is_entrant
from athenan_spiel.experiments.settings import (
    Experiment,
    FixedConfig,
    FixedOpponent,
    FixedPool,
    PlayConfig,
    ProtocolConfig,
    Variant,
)
from athenan_spiel.training.presets import preset
from athenan_spiel.training.settings_file import read_users_toml

TOP_KEYS = ("name", "games", "repetitions", "seed", "protocol", "training", "play", "variants", "fixed")
EXTRA_TRAINING_KEYS = ("preset",)
EXTRA_VARIANT_KEYS = ("preset", "games", "except", "play")
MOST_VARIANTS = 100
MOST_REPETITIONS = 1_000
MOST_SEED = 2**63 - 1
FIXED = "fixed"
MOST_OPPONENTS = 100
LENGTH = ("seconds", "matches")
"""Limits of a training; an override of one replaces both, in [training] and in each variant."""
_PATHS: Mapping[str, KeyPath] = {
    "games": ("games",),
    "repetitions": ("repetitions",),
    "seed": ("seed",),
    "seconds": ("training", "seconds"),
    "matches": ("training", "matches"),
    "stages": ("protocol", "stages"),
    "pairing_matches": ("protocol", "matches"),
    "fixed_matches": ("fixed", "matches"),
}
"""Keys of the file that overrides replace."""


@dataclass(frozen=True, kw_only=True)
class Overrides:
    """Settings that replace those of the file, with the same checks. None keeps the file's.

    Attributes:
        games: a subset of the file's games; each training is the same as in the whole experiment.
        repetitions, seed: as at the top level of the file.
        seconds, matches: length of each training, also for variants with their own.
        stages, pairing_matches: as `stages` and `matches` of [protocol].
        fixed_matches: as `matches` of [fixed].
    """

    games: tuple[str, ...] | None = None
    repetitions: int | None = None
    seed: int | None = None
    seconds: float | None = None
    matches: int | None = None
    stages: int | None = None
    pairing_matches: int | None = None
    fixed_matches: int | None = None

    def given(self) -> dict[str, Any]:
        """Returns the overrides that are not None, by name."""
        return {name: value for name, value in dataclasses.asdict(self).items() if value is not None}

    def paths(self) -> set[KeyPath]:
        """Returns the keys of the file that they replace."""
        return {_PATHS[name] for name in self.given()}

    def applied(self, table: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the file's `table` with all overrides except `games`, which needs a parsed experiment."""
        result = copy.deepcopy(dict(table))
        given = self.given()
        if any(name in given for name in LENGTH):
            variants = result.get("variants")
            for part in (result.get("training"), *(variants.values() if isinstance(variants, dict) else ())):
                if isinstance(part, dict):
                    for name in LENGTH:
                        part.pop(name, None)
        for name, value in given.items():
            if name == "games":
                continue
            *tables, key = _PATHS[name]
            part = result
            for step in tables:
                part = part.setdefault(step, {})
            if isinstance(part, dict):  # the parser rejects other types
                part[key] = value
        return result

    def __str__(self) -> str:
        return ", ".join(f"{name}={shown(value)}" for name, value in self.given().items())


class ExperimentFile(TomlTables):
    """An experiment and the text it was read from.

    Args:
        text: TOML.
        source: the file's name, for messages.
        overrides: values that replace those of the text.

    Attributes:
        overrides: as given.
        experiment: the parsed experiment.

    Raises:
        ConfigError: the text is not TOML, or a key is unknown, of a wrong type, out of range or contradicts another
        one.
    """

    def __init__(self, text: str, source: str, overrides: Overrides | None = None) -> None:
        self.overrides = overrides or Overrides()
        overridden = str(self.overrides)
        super().__init__(text, f"{source} with {overridden}" if overridden else source, self.overrides.paths())
        self.table = self.overrides.applied(self.table)
        self.experiment = self._experiment()

    def variant_error(self, variant: str, error: AthenanError, where: str = "") -> ConfigError:
        """Returns the error of a variant, with the file and the line of the setting that `error` names.

        Args:
            where: end of the message.
        """
        message = f"{error}{where}"
        setting = tuple(error.path.split(".")) if isinstance(error, ConfigError) else ("",)
        for place in (("variants", variant, *setting), ("training", *setting), setting):
            if _is_set(self.table, place):
                return self.error(place, f"variant {variant!r}: {message}")
        return self.error(("variants", variant), f"variant {variant!r}: {message}")

    @contextlib.contextmanager
    def variant_errors(self, variant: str, where: str = "") -> Iterator[None]:
        """Context that raises errors as `variant_error` returns them."""
        try:
            yield
        except AthenanError as error:
            raise self.variant_error(variant, error, where) from None

    def _experiment(self) -> Experiment:
        self.known_keys((), self.table, TOP_KEYS)
        name = self.folder_name_at(("name",))
        games = self.texts_at(("games",))
        variants = self.required(("variants",), dict, "a table for each variant, such as [variants.descent]")
        if len(variants) < 2 and "fixed" not in self.table:
            raise self.error(
                ("variants",), f"an experiment without [fixed] compares at least two variants, got {len(variants)}"
            )
        if len(variants) > MOST_VARIANTS:
            raise self.error(("variants",), f"expected at most {MOST_VARIANTS} variants, got {len(variants)}")
        for variant in variants:
            self.require_name(("variants", variant), "a variant's name", variant)
        training = self._training()
        play = self.settings_at(PlayConfig, ("play",), to_plain(PlayConfig()))
        read = [self._variant(name, games, training, play) for name in variants]
        self._require_distinct(read)
        protocol = self.settings_at(ProtocolConfig, ("protocol",), {})
        if protocol.opponents == "none" and "fixed" not in self.table:
            raise self.error(
                ("protocol", "opponents"),
                "protocol.opponents must be 'all' or 'repetition' without [fixed], got 'none'",
            )
        experiment = Experiment(
            name=name,
            games=games,
            repetitions=self.count_at(("repetitions",), 1, MOST_REPETITIONS),
            seed=self.count_at(("seed",), 0, MOST_SEED) if "seed" in self.table else 0,
            protocol=protocol,
            variants=tuple(read),
            fixed=_fixed_pool(self, read, games) if "fixed" in self.table else None,
        )
        return experiment if self.overrides.games is None else self._at(experiment, self.overrides.games)

    def _at(self, experiment: Experiment, games: tuple[str, ...]) -> Experiment:
        for i, game in enumerate(games):
            if game not in experiment.games or game in games[:i]:
                hint = nearest(game, experiment.games) or f": expected some of {', '.join(experiment.games)}"
                raise self.error(("games",), f"games must be different games of the file, got {shown(game)}{hint}")
        part = experiment.at(games)
        met = len(part.variants) > 1 and part.protocol.opponents != "none"
        if not games or not (met or part.fixed is not None):
            raise self.error(("games",), f"games must leave something to compare, got {shown(games)}")
        return part

    def _training(self) -> dict[str, Any]:
        """Returns the changes of [training] to its preset. Together they must be valid settings."""
        table = self.table_at(("training",))
        self.known_keys(("training",), table, (*EXTRA_TRAINING_KEYS, *names_of(TrainingConfig)))
        differences = self._renewed(("training",), table, EXTRA_TRAINING_KEYS)
        self._read_training(with_differences(self._preset(("training",)), differences), "", ("training",))
        return differences

    def _preset(self, path: KeyPath) -> dict[str, Any]:
        """Returns the preset of the table at `path`; by default that of [training], otherwise the default settings."""
        for place in (path, ("training",)):
            if "preset" in self.table_at(place):
                name = self.text_at((*place, "preset"))
                with self.errors_at((*place, "preset"), f"{dotted(place)}."):
                    return {**to_plain(preset(name)), "seed": 0}
        return {**to_plain(TrainingConfig()), "seed": 0}

    def _variant(self, name: str, games: Sequence[str], training: Mapping[str, Any], play: PlayConfig) -> Variant:
        path = ("variants", name)
        table = self.table_at(path)
        self.known_keys(path, table, (*names_of(TrainingConfig), *EXTRA_VARIANT_KEYS))
        common = with_differences(self._preset(path), training)
        merged = with_differences(common, self._renewed(path, table, EXTRA_VARIANT_KEYS))
        config = self._read_training(merged, name, path)
        if config.seconds is config.matches is None:
            endless = ConfigError.at("training", "must end: set training.seconds or training.matches, got neither")
            raise self.variant_error(name, endless)
        return Variant(
            name=name,
            training=config,
            play=self.settings_at(PlayConfig, (*path, "play"), to_plain(play)),
            games=self._games_of(path, table, games),
        )

    def _renewed(self, path: KeyPath, table: Mapping[str, Any], others: Collection[str]) -> dict[str, Any]:
        """Returns the training settings of a table under their current names, without the keys in `others`."""
        try:
            return renewed(TrainingConfig, {key: value for key, value in table.items() if key not in others})
        except SettingError as error:
            raise self.error((*path, *error.path), f"{dotted(path)}.{error}") from None

    def _games_of(self, path: KeyPath, table: Mapping[str, Any], games: Sequence[str]) -> tuple[str, ...]:
        if "games" in table and "except" in table:
            raise self.error((*path, "except"), f"{dotted(path)} must have games or except, got both")
        chosen = list(games)
        for key in ("games", "except"):
            if key in table:
                named = self.texts_at((*path, key))
                for game in named:
                    if game not in games:
                        hint = nearest(game, games) or f": expected some of {', '.join(games)}"
                        raise self.error((*path, key), f"{dotted(path)}.{key}: {shown(game)} is not in games{hint}")
                chosen = [game for game in games if (game in named) == (key == "games")]
        if not chosen:
            raise self.error((*path, "except"), f"{dotted(path)} must play at least one game, got none")
        return tuple(chosen)

    def _require_distinct(self, variants: Sequence[Variant]) -> None:
        for i, variant in enumerate(variants):
            for other in variants[:i]:
                if (variant.training, variant.play) == (other.training, other.play):
                    raise self.error(
                        ("variants", variant.name),
                        f"variant {variant.name!r} is the same as {other.name!r}: variants must differ in a setting",
                    )

    def _read_training(self, merged: Mapping[str, Any], variant: str, path: KeyPath) -> TrainingConfig:
        """Parses merged settings; `path` is the table that was merged last."""
        try:
            config: TrainingConfig = read_settings(TrainingConfig, merged)
        except SettingError as error:
            table = path if _is_set(self.table, (*path, *error.path)) else ("training",)
            raise self.error((*table, *error.path), f"{dotted(table)}.{error}") from None
        except ConfigError as error:
            if variant:
                raise self.variant_error(variant, error) from None
            raise self.error((*path, *error.path.split(".")), f"training.{error}") from None
        if config.seed != 0:
            raise self.error((*path, "seed"), f"{dotted(path)}.seed is not allowed: set seed at the top level")
        return config


def read_experiment(path: str | Path, overrides: Overrides | None = None) -> ExperimentFile:
    """Read the experiment file at `path`.

    Raises:
        ConfigError: the file cannot be read, or as `ExperimentFile`.
    """
    return ExperimentFile(read_users_toml(path), str(path), overrides)


def _is_set(table: Any, path: KeyPath) -> bool:
    for key in path:
        if not isinstance(table, Mapping) or key not in table:
            return False
        table = table[key]
    return True


def _fixed_pool(tables: TomlTables, variants: Sequence[Variant], games: Sequence[str]) -> FixedPool:
    table = tables.table_at((FIXED,))
    tables.known_keys((FIXED,), table, ("opponents", "play", *names_of(FixedConfig)))
    listed = tables.required((FIXED, "opponents"), list, 'a list of agent specs, such as ["uct:160"]')
    opponents: dict[str, FixedOpponent] = {}
    with tables.errors_at((FIXED, "opponents"), "fixed.opponents "):
        if len(listed) > MOST_OPPONENTS:
            raise ConfigError(f"must be at most {MOST_OPPONENTS} agents, got {len(listed)}")
        for entry in listed:
            opponent = _opponent(entry, {"games": [*games], "variants": [variant.name for variant in variants]})
            if opponent.name in opponents:
                raise ConfigError(f"must have different names, got {shown(opponent.name)} twice")
            opponents[opponent.name] = opponent
    plain = {key: value for key, value in table.items() if key not in ("opponents", "play")}
    return FixedPool(
        opponents=tuple(opponents.values()),
        config=tables.settings_of(FixedConfig, (FIXED,), plain),
        play=tables.settings_at(PlayConfig, (FIXED, "play"), to_plain(PlayConfig())) if "play" in table else None,
    )


def _opponent(entry: Any, known: dict[str, list[str]]) -> FixedOpponent:
    """Returns the opponent of an entry; `known` are the games and variants that it meets by default."""
    given = {"spec": entry} if isinstance(entry, str) else entry
    if not isinstance(given, dict):
        raise ConfigError(f'must be agent specs, or tables such as {{spec = "uct:160"}}, got {shown(entry)}')
    for key in given:
        if key not in (names := names_of(FixedOpponent)):
            hint = nearest(key, names) or f": expected one of {', '.join(names)}"
            raise ConfigError(f"have no {shown(key)}{': the key is now spec' if key == 'word' else hint}")
    if "spec" not in given:
        raise ConfigError(f"must each have a spec, such as uct:160, got {shown(entry)}")
    found: dict[str, Any] = {"name": given["spec"], **known, **given}
    longest_name = LONGEST_NAME if "name" in given else MAX_SPEC_CHARACTERS
    for key, longest in (("spec", MAX_SPEC_CHARACTERS), ("name", longest_name)):
        text = found[key]
        if not isinstance(text, str) or not text.strip() or not text.isprintable() or len(text) > longest:
            raise ConfigError(f"must have a {key} of 1 to {longest:,} printable characters, got {shown(text)}")
    if is_entrant(found["name"]):
        raise ConfigError(f"must not have the name of a network, got {shown(found['name'])}: give another name")
    for key, allowed in known.items():
        if not isinstance(found[key], list) or not found[key]:
            raise ConfigError(f"must have {key} as a list, got {shown(found[key])}")
        for one in found[key]:
            if one not in allowed:
                hint = nearest(one, allowed) or f": expected some of {', '.join(allowed)}"
                raise ConfigError(f"have unknown {key}, {shown(one)}{hint}")
        found[key] = tuple(name for name in allowed if name in found[key])
    return FixedOpponent(**found)
