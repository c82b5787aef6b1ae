"""Symmetries of a game's board, proposed by its shape and verified by play.

A symmetry T maps an encoded state to the encoded state of its image: the board is turned or reflected, and planes whose
meaning depends on a direction are permuted. In Hex, a turn by 180° exchanges the planes "connected to the north edge"
and "connected to the south edge". T preserves the mover and the returns, so a reflection that exchanges the players is
not a symmetry.

Each T that `find_symmetries` returns commutes with the rules in all games played to test it (`mirror_play.py`). This is
evidence and not a proof, since random play is finite. Legal actions and returns are compared until the end of each
game, so information outside the observation (ko, repetition: see `transpositions.py`) is tested as well. Rejected turns
are in `refused` with a reason. The accepted symmetries are a group; products are not tested again, since they commute
with the rules if their factors do.

Used for data augmentation: D ← D ∪ {(T(s), v) | (s, v) ∈ D} (the article, Sections 9.3.1, 10.3 and 11.4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyspiel
from numpy.typing import NDArray

from athenan_spiel.config import SYMMETRIES
from athenan_spiel.encoding.action_images import find_images, images_by_product
from athenan_spiel.encoding.action_planes import find_action_planes
from athenan_spiel.encoding.board_maps import IDENTITY, BoardMap, product, turn
from athenan_spiel.encoding.encoder import Encoder
from athenan_spiel.encoding.mirror_play import MirrorPlay
from athenan_spiel.errors import ConfigError
from athenan_spiel.games.facts import facts_of


@dataclass(frozen=True)
class Symmetries:
    """Result of `find_symmetries` for a game and an encoder."""

    found: tuple[BoardMap, ...]
    """Accepted symmetries, a group; the identity is first."""
    refused: Mapping[str, str]
    """Reason for each rejected turn, by name."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of `found`."""
        return tuple(symmetry.name for symmetry in self.found)

    def select(self, setting: str) -> tuple[int, ...]:
        """Returns the indices into `found` for the setting `EncodingConfig.symmetries`, without the identity.

        Raises:
            ConfigError: the setting names a symmetry that the game does not have.
        """
        if setting == "none":
            return ()
        if setting == "all":
            return tuple(range(1, len(self.found)))
        wanted = setting.split(",")
        for name in wanted:
            if name in self.refused:
                others = ", ".join(map(repr, self.names[1:])) or "'none'"
                raise ConfigError.at(
                    "encoding.symmetries",
                    f": {name!r} is not a symmetry of the game, since {self.refused[name]}: use {others}",
                )
        return tuple(self.names.index(name) for name in wanted)

    def apply(self, rows: NDArray[np.float32], which: NDArray[np.integer[Any]]) -> NDArray[np.float32]:
        """Returns the images of encoded states, as a new float32 [N, size].

        Args:
            rows: encoded states, float32 [N, size].
            which: index into `found` for each row, [N].
        """
        images = np.empty_like(rows)
        for i in np.unique(which).tolist():
            selected = which == i
            images[selected] = self.found[i].image(rows[selected])
        return images

    def action_images(self, game: pyspiel.Game, rng: np.random.Generator, encoder: Encoder) -> NDArray[np.int64]:
        """Returns the image of each action under each symmetry, found and verified on mirrored random games.

        The result depends only on the arguments and the state of `rng`.

        Args:
            game: game of the symmetries.
            rng: selects the actions of the games.
            encoder: encoder with which the symmetries were found.

        Returns:
            int64 [len(found), A]: the image, or -1 if it is unknown or differs between states. The policy of a state in
            which such an action is legal cannot be transformed.
        """
        play = _mirror_play(game, encoder)
        planes = find_action_planes(game, encoder)
        images = {IDENTITY: np.arange(game.num_distinct_actions())}
        for symmetry in self.found[1:]:
            factors = ((second, first) for second in images for first in images)
            pair = next((pair for pair in factors if product(*pair) == symmetry.name), None)
            if pair is None:
                images[symmetry.name] = find_images(game, play, symmetry, planes, rng)
            else:
                images[symmetry.name] = images_by_product(*(images[name] for name in pair))
        return np.stack([images[name] for name in self.names])


def find_symmetries(game: pyspiel.Game, rng: np.random.Generator, encoder: Encoder | None = None) -> Symmetries:
    """Returns the verified symmetries of `game`, in the order of `SYMMETRIES` after the identity.

    Eight turns are proposed for a square board, four for a rectangular one, and only the identity if the observation is
    not a stack of boards. The result depends only on the arguments and the state of `rng`.

    Args:
        rng: selects the actions of the test games.
        encoder: encoder of the states; by default one without edges.
    """
    encoder = encoder or Encoder(game)
    identity = BoardMap(IDENTITY, encoder.shape)
    if len(encoder.shape) != 3:
        reason = f"the observation of {game.get_type().short_name!r} is not a stack of boards"
        return Symmetries((identity,), dict.fromkeys(SYMMETRIES, reason))
    play = _mirror_play(game, encoder)
    found, refused = [identity], {}
    _, height, width = encoder.shape
    for name in SYMMETRIES:
        if height != width and turn(name, np.empty((height, width))).shape != (height, width):
            refused[name] = f"the board is {height} x {width} and not square"
            continue
        if any(symmetry.name == name for symmetry in found):
            continue
        verdict = play.verify(name, rng)
        if isinstance(verdict, str):
            refused[name] = verdict
        else:
            found = _add(verdict, found, refused)
    group, not_closed = closed_under_products([symmetry.name for symmetry in found])
    by_name = {symmetry.name: symmetry for symmetry in found}
    names = [name for name in (IDENTITY, *SYMMETRIES) if name in group]
    return Symmetries(tuple(by_name[name] for name in names), {**refused, **not_closed})


def _mirror_play(game: pyspiel.Game, encoder: Encoder) -> MirrorPlay:
    return MirrorPlay(game, encoder, any_position=bool(facts_of(game.get_type().short_name).any_position))


def _add(symmetry: BoardMap, group: list[BoardMap], refused: Mapping[str, str]) -> list[BoardMap]:
    """Returns a group with one more symmetry: all products, except refused ones."""
    found = {known.name: known for known in [*group, symmetry]}
    while True:
        products = [second.after(first) for second in found.values() for first in found.values()]
        new = [x for x in products if x.name not in found and x.name not in refused]
        if not new:
            return list(found.values())
        found.update((x.name, x) for x in new)


def closed_under_products(names: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Returns a subset that is a group, as names with the identity, and the reason against each other name.

    Products of symmetries are symmetries, so a rejected product means that the test of a factor was too short.
    """
    names, left_over = list(names), {}
    while True:
        for name in names:
            products = [x for other in names for x in (product(name, other), product(other, name))]
            missing = [x for x in products if x not in names]
            if missing:
                left_over[name] = f"its product with another symmetry is {missing[0]!r}, which is refused"
        if not any(name in left_over for name in names):
            return names, left_over
        names = [name for name in names if name not in left_over]
