"""The settings of a training as the words of a command say them: those to start from, which its options change."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from athenan_spiel.cli.own_code import allowed
from athenan_spiel.cli.parsing import option_value
from athenan_spiel.config import MemoryConfig, TrainingConfig
from athenan_spiel.errors import ConfigError


def settings_to_start_from(words: Sequence[str]) -> TrainingConfig:
    """Those of --config, else of --preset.

    Raises:
        ConfigError: both are given, or one of them cannot be understood.
    """
    name, file = option_value(words, "--preset"), option_value(words, "--config")
    if file is None:
        from athenan_spiel.training.presets import preset

        return preset("quick" if name is None else name)
    if name is not None:
        raise ConfigError("expected --preset or --config to start from, got both")
    from athenan_spiel.training.settings_file import read_text, read_users_toml

    config = read_text(read_users_toml(file), file)[1]
    if config.memory.bytes is None:
        return config
    return dataclasses.replace(config, memory=MemoryConfig(bytes=config.memory.bytes))  # the rest was that run's


def is_fitted(words: Sequence[str]) -> bool:
    """Whether the settings to start from are those of a preset for any game, which are made to fit it."""
    from athenan_spiel.training.presets import ALL

    name = option_value(words, "--preset") or "quick"
    return option_value(words, "--config") is None and name in ALL and ALL[name].fits


def lists_presets(words: Sequence[str]) -> bool:
    """Print the presets if `--preset` is the last word, without a name; whether it is."""
    if not words or words[-1] != "--preset":
        return False
    from athenan_spiel.training.presets import ALL

    width = max(map(len, ALL))
    for name, preset in ALL.items():
        print(f"{name:{width}}  {preset.about}")
    return True


def to_fit(words: Sequence[str], game: str) -> list[str]:
    """What is made to fit the game: with the presets `quick`, `hour` and `day`, all that no word says."""
    from athenan_spiel.games.spec import read_spec
    from athenan_spiel.training.fitting import FITTED

    if not is_fitted(words):
        return []
    written = [word.replace("-", "_").replace("__", "--", 1) for word in words]  # either is understood
    said = {name for name in FITTED if option_value(written, f"--{name}") is not None}
    return [name for name in FITTED if name not in said | read_spec(game.strip()).parameters.keys()]


def require_allowed(outcome: str, allow_code: Sequence[str], words: Sequence[str]) -> None:
    """Refuse an outcome that has to be imported and that a file alone names.

    Raises:
        ConfigError: neither --outcome nor --allow-code names it, or what --allow-code says is no name of code.
    """
    said = option_value(words, "--outcome")
    names = allowed([*allow_code, *([said] if said is not None and ":" in said else [])])
    if ":" in outcome and outcome not in names:
        from athenan_spiel.outcomes import not_allowed

        raise not_allowed(outcome)
