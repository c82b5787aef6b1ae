"""Policy heads: a logit for each action of the game, legal or not.

The head is parallel to the value layers. Its input is the output of the tower, the layers that both share:

    planes   a 1 x 1 convolution to planes of actions, in which each cell is an action. It is fully convolutional, for
             games whose actions belong to cells of the board (Silver et al. 2018; Polygames). Actions without a cell,
             such as a pass, get a dense layer over the means of the tower's planes
    dense    a dense layer over the whole tower, or over the last hidden layer of `mlp`. With `policy_filters`, a 1 x 1
             convolution with that number of filters and a ReLU come first (AlphaGo Zero: 2; ExIt: 1)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn

from athenan_spiel.config import NetworkConfig
from athenan_spiel.errors import ConfigError
from athenan_spiel.networks.layers import convolution, linear


@dataclass(frozen=True)
class PolicyShape:
    """Actions of a game, and their cells.

    Attributes:
        actions: number of actions, A.
        planes: number of planes of actions, P; 0 if actions do not belong to cells.
        indices: [A]: index of each action into a flattened [P, H, W] over the board; -1 without a cell. Empty if
            `planes` is 0.
    """

    actions: int
    planes: int = 0
    indices: tuple[int, ...] = ()


class DenseHead(nn.Module):
    """Dense layer over the tower, optionally after a 1 x 1 convolution with ReLU.

    Args:
        tower: shape of the tower's output, (F, H, W) or (F,).
        actions: number of actions, A.
        filters: number of filters of the 1 x 1 convolution; None: no such convolution.

    Attributes:
        on_boards: whether the tower's output is planes.
    """

    def __init__(self, tower: Sequence[int], actions: int, filters: int | None) -> None:
        super().__init__()
        self.on_boards = len(tower) == 3
        self.pointwise = None if filters is None else convolution(tower[0], filters, kernel=1)
        self.dense = linear(math.prod(tower) if filters is None else filters * math.prod(tower[1:]), actions)

    def forward(self, tower: torch.Tensor) -> torch.Tensor:
        """Maps [N, F, H, W] or [N, F] to logits [N, A]."""
        if self.pointwise is not None:
            tower = torch.relu(self.pointwise(tower))
        logits: torch.Tensor = self.dense(tower.flatten(1))
        return logits


class PlanesHead(nn.Module):
    """1 x 1 convolution to planes of actions, and a dense layer for actions without a cell.

    Args:
        tower: shape of the tower's output, (F, H, W).
        shape: actions and their cells.

    Attributes:
        planes: the convolution.
        beside: the dense layer; None if all actions have a cell.
        indices: [A]: index of each action's logit into the concatenated outputs of `planes` and `beside`.
    """

    indices: torch.Tensor

    def __init__(self, tower: Sequence[int], shape: PolicyShape) -> None:
        super().__init__()
        self.planes = convolution(tower[0], shape.planes, kernel=1)
        beside = [action for action, index in enumerate(shape.indices) if index < 0]
        self.beside = linear(tower[0], len(beside)) if beside else None
        first = shape.planes * math.prod(tower[1:])
        indices = [first + beside.index(a) if i < 0 else i for a, i in enumerate(shape.indices)]
        self.register_buffer("indices", torch.tensor(indices), persistent=False)

    def forward(self, tower: torch.Tensor) -> torch.Tensor:
        """Maps [N, F, H, W] to logits [N, A]."""
        logits: torch.Tensor = self.planes(tower).flatten(1)
        if self.beside is not None:
            logits = torch.cat([logits, self.beside(tower.mean((2, 3)))], 1)
        return logits.index_select(1, self.indices)


PolicyHead = DenseHead | PlanesHead


def make_head(tower: Sequence[int], board: Sequence[int], config: NetworkConfig, shape: PolicyShape) -> PolicyHead:
    """Creates the head of the settings, with uninitialised weights.

    Args:
        tower: shape of the tower's output.
        board: shape of an encoded state.
        config: settings of the network.
        shape: actions and their cells.

    Raises:
        ConfigError: `policy` is "planes", but actions have no cells or the tower's output has another size than the
            board; or `policy_filters` is set, but the tower's output is not planes.
    """
    same_board = len(tower) == 3 and tuple(tower[1:]) == tuple(board[1:])
    if config.policy == "planes":
        if not shape.planes:
            raise ConfigError.at("network.policy", "='planes' needs actions on the cells of the board: use 'dense'")
        if not same_board:
            raise ConfigError.at(
                "network.policy",
                f"='planes' needs a tower with the board's size {tuple(board[1:])!r}, got {tuple(tower[1:])!r}: use "
                "network.architecture 'auto', 'r1', 'r2' or 'r3'",
            )
    if shape.planes and same_board and config.policy != "dense":
        return PlanesHead(tower, shape)
    if len(tower) != 3 and config.policy_filters is not None:
        raise ConfigError.at(
            "network.policy_filters",
            f"must be none for observations that are not boards, got {config.policy_filters!r}",
        )
    return DenseHead(tower, shape.actions, config.policy_filters)
