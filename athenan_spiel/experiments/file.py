"""An experiment's file: TOML, read strictly, every mistake said with its line before anything is trained.

    name = "searches"
    games = ["hex(board_size=5)", "breakthrough(rows=6,columns=6)"]
    repetitions = 4

    [training]                    # what all variants have in common: a preset, and differences to it
    preset = "quick"
    seconds = 60
    search.seconds = 0.05

    [variants."Descent"]          # what is a variant's own: differences to [training] and [play]
    [variants."MCTS"]
    search.algorithm = "mcts"
    except = ["hex(board_size=5)"]
    play = {algorithm = "mcts", seconds = 0.1}

A table that gives one limit of a search (seconds, iterations, evaluations, network_seconds), or of the training
(seconds, matches), drops the others that it had from elsewhere. Some settings may be said in place of the file's own
(`overrides`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from athenan_spiel.config import NONE, TrainingConfig
from athenan_spiel.config.search import LIMITS as OF_SEARCH
from athenan_spiel.errors import AthenanError, ConfigError, nearest, printable, shown
from athenan_spiel.experiments.overrides import Overrides
from athenan_spiel.experiments.settings import Experiment, PlayConfig, ProtocolConfig, Variant
from athenan_spiel.system.files import parse_toml, read_toml
from athenan_spiel.training.presets import preset
from athenan_spiel.training.settings_file import SettingError, read_settings, renewed
from athenan_spiel.training.toml_lines import KeyPath, line_of

TOP = ("name", "games", "repetitions", "seed", "protocol", "training", "play", "variants")
OF_TRAINING = ("preset",)
OF_VARIANT = ("games", "except", "play")
LIMITS: Mapping[KeyPath, tuple[str, ...]] = {(): ("seconds", "matches"), ("search",): OF_SEARCH}
"""Settings of training of which each takes the place of the others, by the table they stand in."""
PLAY_LIMITS: Mapping[KeyPath, tuple[str, ...]] = {(): OF_SEARCH}
MOST_GAMES = 100
MOST_VARIANTS = 100
MOST_REPETITIONS = 1_000
MOST_SEED = 2**63 - 1
LONGEST_NAME = 60
"""Characters of an experiment's or a variant's name, which becomes that of a folder: at four bytes each they fit."""


class ExperimentFile:
    """An experiment with the text it was read from.

    Args:
        text: TOML.
        source: the file's name, for messages.
        overrides: what takes the place of the text's own settings.

    Attributes:
        experiment: what the text and the overrides mean.
        source: the file's name with the overrides, for messages.

    Raises:
        ConfigError: it is no TOML; a key is misspelt, of a wrong type or out of range; or it contradicts another one.
    """

    def __init__(self, text: str, source: str, overrides: Overrides | None = None) -> None:
        self.text = text
        self.overrides = overrides or Overrides()
        self.source = f"{source} with {said}" if (said := str(self.overrides)) else source
        try:
            table = parse_toml(text)
        except ValueError as error:
            raise ConfigError(f"{source} is not valid TOML: {error}", source=source) from None
        self._table = self.overrides.applied(table)
        self.experiment = self._experiment()

    def error(self, path: KeyPath, problem: str) -> ConfigError:
        """What is wrong with the key `path`, with the file and the line: its own, or that of the table around it."""
        if path in self.overrides.paths():
            place = self.source
        else:
            known = (path[:length] for length in range(len(path), 0, -1))
            line = next((number for part in known if (number := line_of(self.text, part)) is not None), None)
            place = f"{self.source}{f', line {line}' if line is not None else ''}"
        return ConfigError(f"{place}: {problem}", path=".".join(path), problem=problem, source=self.source)

    def variant_error(self, variant: str, error: AthenanError, where: str = "") -> ConfigError:
        """What is wrong with a variant, with the file and the line of the setting that the error names.

        Args:
            where: what the message ends with.
        """
        message = f"{error}{where}"
        setting = tuple(error.path.split(".")) if isinstance(error, ConfigError) else ("",)
        for place in (("variants", variant, *setting), ("training", *setting), setting):
            if _is_set(self._table, place):
                return self.error(place, f"variant {variant!r}: {message}")
        return self.error(("variants", variant), f"variant {variant!r}: {message}")

    def _experiment(self) -> Experiment:
        self._known_keys((), self._table, TOP)
        name = self._name()
        games = self._texts(("games",))
        variants = self._required(("variants",), dict, "a table for each variant, such as [variants.descent]")
        if len(variants) < 2:
            raise self.error(("variants",), f"an experiment compares at least two variants, got {len(variants)}")
        if len(variants) > MOST_VARIANTS:
            raise self.error(("variants",), f"there may be at most {MOST_VARIANTS} variants, got {len(variants)}")
        for variant in variants:
            self._require_name(("variants", variant), "a variant's name", variant)
        training = self._training()
        play = self._settings(PlayConfig, ("play",), {})
        read = [self._variant(name, games, training, play) for name in variants]
        self._no_twins(read)
        return Experiment(
            name=name,
            games=games,
            repetitions=self._count(("repetitions",), 1, MOST_REPETITIONS),
            seed=self._count(("seed",), 0, MOST_SEED) if "seed" in self._table else 0,
            protocol=self._settings(ProtocolConfig, ("protocol",), {}),
            variants=tuple(read),
        )

    def _name(self) -> str:
        """The experiment's name, which is that of its folder, too."""
        name = self._text(("name",))
        if name[0] in "-." or any(sign in name for sign in "/\\"):
            raise self.error(
                ("name",),
                "name must hold no slash or backslash and not begin with a dash or a dot, as it names a folder, "
                f"got {shown(name)}",
            )
        self._require_name(("name",), "name", name)
        return name

    def _require_name(self, path: KeyPath, what: str, name: str) -> None:
        if not name.strip() or not name.isprintable() or len(name) > LONGEST_NAME:
            raise self.error(path, f"{what} must be 1 to {LONGEST_NAME} printable characters, got {shown(name)}")

    def _training(self) -> dict[str, Any]:
        """What [training] comes to; it must be right by itself."""
        table = self._table_at(("training",))
        self._known_keys(("training",), table, (*OF_TRAINING, *_names(TrainingConfig)))
        base = TrainingConfig()
        if "preset" in table:
            try:
                base = preset(self._text(("training", "preset")))
            except ConfigError as error:
                raise self.error(("training", "preset"), f"training.{error}") from None
        start = {**dataclasses.asdict(base), "seed": 0}
        merged = _with_differences(start, self._renewed(("training",), table, OF_TRAINING))
        self._read_training(merged, "", ("training",))
        return merged

    def _variant(self, name: str, games: Sequence[str], training: Mapping[str, Any], play: PlayConfig) -> Variant:
        path = ("variants", name)
        table = self._table_at(path)
        self._known_keys(path, table, (*_names(TrainingConfig), *OF_VARIANT))
        merged = _with_differences(training, self._renewed(path, table, OF_VARIANT))
        config = self._read_training(merged, name, path)
        if config.seconds is config.matches is None:
            endless = ConfigError.at("training", "must end: give training.seconds or training.matches, got neither")
            raise self.variant_error(name, endless)
        return Variant(
            name=name,
            training=config,
            play=self._settings(PlayConfig, (*path, "play"), dataclasses.asdict(play)),
            games=self._games_of(path, table, games),
        )

    def _renewed(self, path: KeyPath, table: Mapping[str, Any], others: Collection[str]) -> dict[str, Any]:
        """The settings of training in a table, by their names of now, without the `others` that stand beside them."""
        try:
            return renewed(TrainingConfig, {key: value for key, value in table.items() if key not in others})
        except SettingError as error:
            raise self.error((*path, *error.path), f"{_dotted(path)}.{error}") from None

    def _games_of(self, path: KeyPath, table: Mapping[str, Any], games: Sequence[str]) -> tuple[str, ...]:
        """In which of the experiment's games a variant takes part."""
        if "games" in table and "except" in table:
            raise self.error((*path, "except"), f"{_dotted(path)} must have games or except, got both")
        chosen = list(games)
        for key in ("games", "except"):
            if key in table:
                named = self._texts((*path, key))
                for game in named:
                    if game not in games:
                        hint = nearest(game, games) or f": expected some of {', '.join(games)}"
                        raise self.error((*path, key), f"{_dotted(path)}.{key}: {shown(game)} is not in games{hint}")
                chosen = [game for game in games if (game in named) == (key == "games")]
        if not chosen:
            raise self.error((*path, "except"), f"{_dotted(path)} must take part in a game, got none")
        return tuple(chosen)

    def _no_twins(self, variants: Sequence[Variant]) -> None:
        for i, variant in enumerate(variants):
            for other in variants[:i]:
                if (variant.training, variant.play) == (other.training, other.play):
                    raise self.error(
                        ("variants", variant.name),
                        f"variant {variant.name!r} is the same as {other.name!r}: variants must differ in a setting",
                    )

    def _read_training(self, merged: Mapping[str, Any], variant: str, path: KeyPath) -> TrainingConfig:
        """Read what a table that was added last has come to."""
        try:
            config: TrainingConfig = read_settings(TrainingConfig, merged, ())
        except SettingError as error:
            table = path if _is_set(self._table, (*path, *error.path)) else ("training",)
            raise self.error((*table, *error.path), f"{_dotted(table)}.{error}") from None
        except ConfigError as error:
            if variant:
                raise self.variant_error(variant, error) from None
            raise self.error((*path, *error.path.split(".")), f"training.{error}") from None
        if config.seed != 0:
            raise self.error((*path, "seed"), f"{_dotted(path)}.seed is not for here: give seed outside of all tables")
        return config

    def _settings(self, kind: type[Any], path: KeyPath, base: Mapping[str, Any]) -> Any:
        """[protocol], or [play] with what stands above it."""
        table = self._table_at(path)
        self._known_keys(path, table, _names(kind))
        try:
            return read_settings(kind, _with_differences(base, table, PLAY_LIMITS), path)
        except SettingError as error:
            raise self.error(error.path, str(error)) from None
        except ConfigError as error:
            key = error.path.removeprefix(kind.table)
            raise self.error((*path, key), f"{_dotted(path[:-1])}{'.' if path[:-1] else ''}{error}") from None

    def _known_keys(self, path: KeyPath, table: Mapping[str, Any], known: Sequence[str]) -> None:
        for key in table:
            if key not in known:
                hint = nearest(key, known) or f": expected one of {', '.join(known)}"
                raise self.error((*path, key), f"{_dotted((*path, key))} is not a setting{hint}")

    def _table_at(self, path: KeyPath) -> dict[str, Any]:
        table: Any = self._table
        for key in path:
            table = table.get(key, {})
            if not isinstance(table, dict):
                raise self.error(path, f"{_dotted(path)} must be a table, [{_dotted(path)}], got {shown(table)}")
        found: dict[str, Any] = table
        return found

    def _required(self, path: KeyPath, kind: type[Any], expected: str) -> Any:
        value = self._table_at(path[:-1]).get(path[-1])
        if type(value) is not kind or value in ("", [], {}):
            raise self.error(path, f"{_dotted(path)} must be {expected}, got {shown(value)}")
        return value

    def _text(self, path: KeyPath) -> str:
        text: str = self._required(path, str, "a text")
        return text

    def _texts(self, path: KeyPath) -> tuple[str, ...]:
        texts = self._required(path, list, "a list of game strings")
        if len(texts) > MOST_GAMES:
            raise self.error(path, f"{_dotted(path)} must be at most {MOST_GAMES} game strings, got {len(texts)}")
        for i, text in enumerate(texts):
            if type(text) is not str or not text.isprintable() or not text or text in texts[:i]:
                raise self.error(
                    path, f"{_dotted(path)} must be a list of different game strings, got {shown(text)} in it"
                )
        return tuple(texts)

    def _count(self, path: KeyPath, least: int, most: int) -> int:
        count: int = self._required(path, int, f"a whole number, at least {least}")
        if count < least:
            raise self.error(path, f"{_dotted(path)} must be a whole number, at least {least}, got {shown(count)}")
        if count > most:
            raise self.error(path, f"{_dotted(path)} must be at most {most:,}, got {shown(count)}")
        return count


def read_experiment(path: str | Path, overrides: Overrides | None = None) -> ExperimentFile:
    """The experiment in the file `path`, with `overrides` in place of the file's own settings.

    Raises:
        ConfigError: the file cannot be read, or as `ExperimentFile`.
    """
    try:
        text = read_toml(path, follow=True)
    except OSError as error:
        raise ConfigError(f"{printable(str(path))} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise ConfigError(f"{printable(str(path))} is not valid TOML: {error}") from None
    return ExperimentFile(text, str(path), overrides)


def _names(kind: type[Any]) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind))


def _dotted(path: KeyPath) -> str:
    """The key as a message says it; a name in it that would break the line, or fill it, is shown as a value is."""
    return ".".join(key if key.isprintable() and len(key) <= LONGEST_NAME else shown(key) for key in path)


def _is_set(table: Any, path: KeyPath) -> bool:
    for key in path:
        if not isinstance(table, Mapping) or key not in table:
            return False
        table = table[key]
    return True


def _with_differences(
    base: Mapping[str, Any],
    differences: Mapping[str, Any],
    limits: Mapping[KeyPath, tuple[str, ...]] = LIMITS,
    path: KeyPath = (),
) -> dict[str, Any]:
    """`base` with what `differences` says otherwise, tables within tables; one limit drops the others."""
    merged = dict(base)
    names = limits.get(path, ())
    if any(name in differences for name in names):
        merged |= {name: NONE for name in names if name in merged}
    for key, value in differences.items():
        under = merged.get(key)
        if isinstance(under, Mapping) and isinstance(value, Mapping):
            merged[key] = _with_differences(under, value, limits, (*path, key))
        else:
            merged[key] = value
    return merged
