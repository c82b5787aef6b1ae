"""What the network is shown, what it is, and what runs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from athenan_spiel.config.settings import Settings
from athenan_spiel.errors import ConfigError, nearest

NetworkName = Literal["auto", "c", "r1", "r2", "r3", "mlp"]
PolicyName = Literal["none", "auto", "planes", "dense"]
EngineName = Literal["auto", "openvino", "torch", "cuda"]
Precision = Literal["auto", "bfloat16", "float32"]

SYMMETRIES = (
    "rotate_90",
    "rotate_180",
    "rotate_270",
    "flip_horizontal",
    "flip_vertical",
    "transpose",
    "anti_transpose",
)
"""The symmetries of a square without the identity; `encoding/board_maps.py` says what each does."""
WIDEST = 100_000
"""Filters or neurons of a layer; the article's widest has 4453. Whether all the layers together fit into the memory of
the machine is looked at before a network is made (`networks.memory`)."""
DEEPEST = 1000
"""Layers or blocks; those of the papers above have 2 to 8."""
MOST_THREADS = 1024
"""On any machine; a small one takes fewer (`evaluators.threads`)."""


@dataclass(frozen=True, kw_only=True)
class EncodingConfig(Settings):
    """What the network is shown of a state."""

    table: ClassVar[str] = "encoding."

    edges: bool = False
    """The board has a margin of one cell with the stones of the players who own the sides, for games such as Hex
    (the article, Section 9.3.1)."""
    symmetries: str = "none"
    """Each learned state is joined by one of its mirror images, drawn at random (Sections 9.3.1 and 10.3): `all` that
    the game was found to have, `none`, or some by name, such as "rotate_180" or "rotate_180,transpose"."""

    def check(self) -> None:
        """Every symmetry has a known name, and is named once."""
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
    """The value network."""

    table: ClassVar[str] = "network."

    architecture: NetworkName = "auto"
    """`c`, `r1`, `r2`: the papers' convolutional and residual networks (Minimax Strikes Back, Table 2); `r3`: residual
    blocks, a wide 1 x 1 convolution, global sum pooling and a dense layer (the article, Sections 10.3 and 11.4);
    `mlp`: dense layers, for games without planes; `auto`: chosen by the board's size."""
    filters: int = 64
    """Filters of each convolution. The article: 64 (Section 3.3.1), 132 (Section 8.4.1)."""
    layers: int | None = None
    """Convolutions of `c` (papers: 3), residual blocks of `r1` (2), `r2` and `r3` (8), hidden layers of `mlp` (3)."""
    neurons: int = 100
    """Neurons of a hidden dense layer. The article: 100 (Section 3.3.1)."""
    dense_layers: int | None = None
    """Hidden dense layers behind the convolutions of `c` and `r1` (papers: 1) and of `r2` (2; Section 9.3.1: 1)."""
    squeeze_excitation: int | None = None
    """Ratio of the squeeze-and-excitation layer that ends each residual block; none: there is no such layer.
    The article: 16 (Sections 10.3 and 12.4)."""
    pointwise_filters: int | None = None
    """Filters of the 1 x 1 convolution of `r3` and of no other, which takes as many as `neurons` where none is given.
    The article: 4453, as its neurons (Section 10.3)."""

    policy: PolicyName = "none"
    """A head that answers a policy beside the value, for searches that want one. `planes`: fully convolutional, where
    actions are on the cells of the board (AlphaZero, Polygames); `dense`: a dense layer; `auto`: `planes` where it can
    be, else `dense`; `none`: values alone (Athénan)."""
    policy_filters: int | None = None
    """Filters of a 1 x 1 convolution before a dense policy; none: there is none. ExIt: 1 (Section 8.4.2)."""

    def check(self) -> None:
        """Each size is at least 1, and nothing is set that the architecture does not have."""
        sizes = ("filters", "neurons", "squeeze_excitation", "pointwise_filters", "policy_filters")
        self.require_some(1, *sizes, most=WIDEST)
        if self.policy in ("none", "planes"):
            self.require(self.policy_filters is None, "policy_filters", "none, unless for a policy that is dense")
        self.require_some(1, "layers", "dense_layers", most=DEEPEST)
        if self.architecture not in ("r1", "r2", "r3"):
            self.require(self.squeeze_excitation is None, "squeeze_excitation", "none, unless for 'r1', 'r2' or 'r3'")
        if self.architecture in ("r3", "mlp"):
            self.require(self.dense_layers is None, "dense_layers", "none, unless for 'c', 'r1' or 'r2'")
        if self.architecture != "r3":
            self.require(self.pointwise_filters is None, "pointwise_filters", "none, as only 'r3' has them")


@dataclass(frozen=True, kw_only=True)
class EngineConfig(Settings):
    """What runs the network when the search asks for values."""

    table: ClassVar[str] = "engine."

    name: EngineName = "auto"
    """`auto` takes CUDA where there is a device, else OpenVINO."""
    precision: Precision = "auto"
    """`auto` takes bfloat16 where a processor has matrix units for it, or a GPU computes in it, else float32."""
    threads: int | None = None
    """Threads of the engine on a processor; none: one for every two cores, since the search keeps another one busy, and
    threads that have to wait for a core cost far more than they bring. A run refuses more than 64 for each core, an
    agent takes no more than that."""

    def check(self) -> None:
        """The number of threads is at least 1."""
        self.require_some(1, "threads", most=MOST_THREADS)
