"""Settings of the network and its input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from athenan_spiel.config.settings import Range, Settings
from athenan_spiel.errors import ConfigError, nearest

NetworkName = Literal["auto", "c", "r1", "r2", "r3", "mlp"]
PolicyName = Literal["none", "auto", "planes", "dense"]

SYMMETRIES = (
    "rotate_90",
    "rotate_180",
    "rotate_270",
    "flip_horizontal",
    "flip_vertical",
    "transpose",
    "anti_transpose",
)
"""Symmetries of a square without the identity; `encoding/board_maps.py` defines them."""
DEEPEST = 1000
"""Maximum number of layers or blocks; the papers use 2 to 8."""

Width = Annotated[int, Range(1, 100_000)]
"""Filters or neurons of a layer. The article uses up to 4453. `networks.memory` checks that all layers fit into memory
together."""
Depth = Annotated[int, Range(1, DEEPEST)]


@dataclass(frozen=True, kw_only=True)
class EncodingConfig(Settings):
    """Input of the network."""

    table: ClassVar[str] = "encoding."

    edges: bool = False
    """Add a margin of one cell with the stones of the players who own the sides, for games such as Hex (the article,
    Section 9.3.1)."""
    symmetries: str = "none"
    """Symmetries that augment training samples; each sample is augmented by a random one (Sections 9.3.1 and 10.3).
    `all`: all that the game has; `none`; or names such as "rotate_180" or "rotate_180,transpose"."""

    def check(self) -> None:
        """Check that the names of symmetries are known and different."""
        if self.symmetries in ("none", "all"):
            return
        names = self.symmetries.split(",")
        known = ("none", "all", *SYMMETRIES)
        for name in names:
            if name not in SYMMETRIES:
                raise ConfigError.at(
                    "encoding.symmetries",
                    f"must be 'none', 'all' or, with commas between, some of {', '.join(SYMMETRIES)}, "
                    f"got {self.symmetries!r}{nearest(name, known)}",
                )
        self.require(len(set(names)) == len(names), "symmetries", "names of which each is given once")


@dataclass(frozen=True, kw_only=True)
class NetworkConfig(Settings):
    """Value network."""

    table: ClassVar[str] = "network."

    architecture: NetworkName = "auto"
    """Network architecture. `c`, `r1`, `r2`: the papers' convolutional and residual networks (Minimax Strikes Back,
    Table 2); `r3`: residual blocks, a wide 1 x 1 convolution, global sum pooling and a dense layer (the article,
    Sections 10.3 and 11.4); `mlp`: dense layers, for games without planes; `auto`: chosen by the board's size."""
    filters: Width = 64
    """Filters of each convolution. The article: 64 (Section 3.3.1), 132 (Section 8.4.1)."""
    layers: Depth | None = None
    """Convolutions of `c`, residual blocks of `r1`, `r2` and `r3`, hidden layers of `mlp`; none: 3 for `c` and `mlp`, 2
    for `r1`, 8 for `r2` and `r3` (papers)."""
    neurons: Width = 100
    """Neurons of a hidden dense layer. The article: 100 (Section 3.3.1)."""
    dense_layers: Depth | None = None
    """Hidden dense layers after the convolutions of `c`, `r1` and `r2`; none: 1 for `c` and `r1`, 2 for `r2` (papers).
    Section 9.3.1: 1 for `r2`."""
    squeeze_excitation: Width | None = None
    """Ratio of the squeeze-and-excitation layer at the end of each residual block; none: no such layer. The article: 16
    (Sections 10.3 and 12.4)."""
    pointwise_filters: Width | None = None
    """Filters of the 1 x 1 convolution of `r3`; none: `neurons`. The article: 4453, as its neurons (Section 10.3)."""

    policy: PolicyName = "none"
    """Policy head, for searches that use priors. `planes`: fully convolutional, for actions on cells of the board
    (AlphaZero, Polygames); `dense`: a dense layer; `auto`: `planes` if possible, else `dense`; `none`: values only
    (Athénan)."""
    policy_filters: Width | None = None
    """Filters of a 1 x 1 convolution before a dense policy; none: no such convolution. ExIt: 1 (Section 8.4.2)."""

    def check(self) -> None:
        """Check that no option of another architecture is set."""
        if self.policy in ("none", "planes"):
            self.require_unset(["policy_filters"], "unless for a policy that is dense")
        if self.architecture not in ("r1", "r2", "r3"):
            self.require_unset(["squeeze_excitation"], "unless for 'r1', 'r2' or 'r3'")
        if self.architecture in ("r3", "mlp"):
            self.require_unset(["dense_layers"], "unless for 'c', 'r1' or 'r2'")
        if self.architecture != "r3":
            self.require_unset(["pointwise_filters"], "as only 'r3' has them")
