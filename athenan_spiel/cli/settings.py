"""Settings of a training on the command line: the preset or file to start from, and the settings to fit."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from athenan_spiel.cli.options import allowed
from athenan_spiel.cli.parsing import option_value
from athenan_spiel.config import MemoryConfig, TrainingConfig
from athenan_spiel.errors import ConfigError


def settings_to_start_from(words: Sequence[str]) -> TrainingConfig:
    """Return the settings of --config, or else of --preset.

    Raises:
        ConfigError: both are given, or one of them is invalid.
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
    return dataclasses.replace(
        config, memory=MemoryConfig(bytes=config.memory.bytes)
    )  # the other values were computed for that run


def is_fitted(words: Sequence[str]) -> bool:
    """Return whether the preset is one whose settings are fitted to the game."""
    from athenan_spiel.training.presets import ALL

    name = option_value(words, "--preset") or "quick"
    return option_value(words, "--config") is None and name in ALL and ALL[name].fits


def lists_presets(words: Sequence[str]) -> bool:
    """Print the presets and return True if `--preset` is the last word, without a name."""
    if not words or words[-1] != "--preset":
        return False
    from athenan_spiel.training.presets import ALL

    width = max(map(len, ALL))
    for name, preset in ALL.items():
        print(f"{name:{width}}  {preset.about}")
    return True


def to_fit(words: Sequence[str], game: str) -> list[str]:
    """Return the settings to fit to the game: with the presets for any game, all that no option sets.

    "chance" is among them only if no option sets anything of the search, the targets or the exploration, and
    "warm_up.seconds" only if none sets anything of the warm-up.
    """
    from athenan_spiel.games.spec import read_spec
    from athenan_spiel.training.presets import FITTED

    if not is_fitted(words):
        return []
    written = [word.replace("-", "_").replace("__", "--", 1) for word in words]  # both spellings are valid
    given = {name for name in FITTED if option_value(written, f"--{name}") is not None}
    if any(word.startswith(("--search.", "--targets.", "--exploration.")) for word in written):
        given.add("chance")
    if any(word.startswith("--warm_up.") for word in written):
        given.add("warm_up.seconds")
    return [name for name in FITTED if name not in given | read_spec(game.strip()).parameters.keys()]


def require_allowed(outcome: str, allow_code: Sequence[str], words: Sequence[str]) -> None:
    """Check that a custom outcome is not named only by a file.

    Raises:
        ConfigError: neither --outcome nor --allow-code names it, or --allow-code is invalid.
    """
    given = option_value(words, "--outcome")
    names = allowed([*allow_code, *([given] if given is not None and ":" in given else [])])
    if ":" in outcome and outcome not in names:
        from athenan_spiel.outcomes import not_allowed

        raise not_allowed(outcome)
