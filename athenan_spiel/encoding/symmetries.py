"""The symmetries of a game's board, proposed by its shape and verified on the rules before use.

A symmetry T maps an encoded state to the encoded state that mirrors it: the board is turned or reflected, and the
planes are permuted where their meaning turns along (Hex's planes for "connected to the north edge" and "to the
south edge" change places when the board is turned by 180°). T keeps the mover and the worth of every end, as values
are the first player's, so a reflection that exchanges the two players is no symmetry.

Promise of `find_symmetries`: T commutes with the rules in all matches that were played to test it (`mirror_play.py`).
A symmetry that failed is in `refused` with its reason. The accepted ones are a group: products of symmetries commute
with the rules because their factors do, and are not tested again. This is evidence and not a proof, as random play is
finite. It concerns rules and not only observations: legal actions and results are compared to the ends of games, so
state that no observation shows (ko, repetition: see `transpositions.py`) has to agree as well.

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
    """A group; the identity is first."""
    refused: Mapping[str, str]
    """The names of the others, each with the reason."""

    @property
    def names(self) -> tuple[str, ...]:
        """Those of `found`."""
        return tuple(symmetry.name for symmetry in self.found)

    def select(self, setting: str) -> tuple[int, ...]:
        """The indices into `found` that `EncodingConfig.symmetries` stands for, without the identity.

        Raises:
            ConfigError: a symmetry is named that the game does not have.
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
                    f": {name!r} is no symmetry of the game, since {self.refused[name]}: take {others}",
                )
        return tuple(self.names.index(name) for name in wanted)

    def apply(self, rows: NDArray[np.float32], which: NDArray[np.integer[Any]]) -> NDArray[np.float32]:
        """The images of encoded states.

        Args:
            rows: float32 [N, size].
            which: [N], for each row the index into `found`.

        Returns:
            float32 [N, size], new.
        """
        images = np.empty_like(rows)
        for i in np.unique(which).tolist():
            mine = which == i
            images[mine] = self.found[i].image(rows[mine])
        return images

    def action_images(self, game: pyspiel.Game, rng: np.random.Generator, encoder: Encoder) -> NDArray[np.int64]:
        """What each action becomes under each symmetry, found and verified on mirrored matches; costs what those do.

        The same generator finds the same.

        Args:
            game: the game whose symmetries these are.
            rng: of the matches.
            encoder: by which they were found.

        Returns:
            [len(found), A]: the action, or -1 where it is not known, or is another one in another state: the policy of
            a state in which such an action is legal cannot be mirrored.
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
    """The board symmetries of `game` as `encoder` shows it, by default without edges.

    Eight are proposed where the board is square, four where it is oblong, and the identity alone where the observation
    is no stack of boards. The same generator finds the same.

    Returns:
        Those that were verified, in the order of `SYMMETRIES` behind the identity, and the reasons against the others.
    """
    encoder = encoder or Encoder(game)
    identity = BoardMap(IDENTITY, encoder.shape)
    if len(encoder.shape) != 3:
        reason = f"what is observed of {game.get_type().short_name!r} is no stack of boards"
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
            found = _with(verdict, found, refused)
    group, open_ = closed_under_products([symmetry.name for symmetry in found])
    by_name = {symmetry.name: symmetry for symmetry in found}
    names = [name for name in (IDENTITY, *SYMMETRIES) if name in group]
    return Symmetries(tuple(by_name[name] for name in names), {**refused, **open_})


def _mirror_play(game: pyspiel.Game, encoder: Encoder) -> MirrorPlay:
    return MirrorPlay(game, encoder, any_position=bool(facts_of(game.get_type().short_name).any_position))


def _with(symmetry: BoardMap, group: list[BoardMap], refused: Mapping[str, str]) -> list[BoardMap]:
    """Return a group with one more symmetry: all products, except refused ones."""
    found = {known.name: known for known in [*group, symmetry]}
    while True:
        products = [second.after(first) for second in found.values() for first in found.values()]
        new = [x for x in products if x.name not in found and x.name not in refused]
        if not new:
            return list(found.values())
        found.update((x.name, x) for x in new)


def closed_under_products(names: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The names that may stay for them to be a group, the identity among them, and why the others may not.

    Products of symmetries are symmetries, so a product that was refused tells that the trial of a factor was too short.
    """
    names, left_over = list(names), {}
    while True:
        for name in names:
            products = [x for other in names for x in (product(name, other), product(other, name))]
            missing = [x for x in products if x not in names]
            if missing:
                left_over[name] = f"together with others it would give {missing[0]!r}, which is refused"
        if not any(name in left_over for name in names):
            return names, left_over
        names = [name for name in names if name not in left_over]
