"""The head of a network that answers a policy: a logit for each action of the game, whether it is legal or not.

It stands beside the layers of the value, on what the tower of convolutions gives:

    planes   a 1 x 1 convolution to one plane for each kind of action, each cell of it an action: fully convolutional,
             where actions sit on the cells of the board (Silver et al. 2018; Polygames); actions beside the board, such
             as a pass, have a dense layer over the means of the tower's planes
    dense    a dense layer over all of the tower, or over the last hidden layer of a network of dense layers; with
             `policy_filters` behind a 1 x 1 convolution of so many filters with its ReLU (AlphaGo Zero: 2; ExIt: 1)
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
    """Which actions a game has, and where.

    Attributes:
        actions: A, how many.
        planes: P, kinds of actions on a cell; 0: they are not on cells.
        indices: [A]: where each is in [P, H, W], laid end to end, with the board's H and W; -1: beside the board.
    """

    actions: int
    planes: int = 0
    indices: tuple[int, ...] = ()


class DenseHead(nn.Module):
    """A dense layer over the tower, perhaps behind a 1 x 1 convolution with its ReLU.

    Args:
        tower: shape of what the tower gives, (F, H, W) or (F,).
        actions: A.
        filters: of the 1 x 1 convolution; none: there is none.

    Attributes:
        on_boards: the tower gives planes.
    """

    def __init__(self, tower: Sequence[int], actions: int, filters: int | None) -> None:
        super().__init__()
        self.on_boards = len(tower) == 3
        self.pointwise = None if filters is None else convolution(tower[0], filters, kernel=1)
        self.dense = linear(math.prod(tower) if filters is None else filters * math.prod(tower[1:]), actions)

    def forward(self, tower: torch.Tensor) -> torch.Tensor:
        """[N, F, H, W] or [N, F] to logits [N, A]."""
        if self.pointwise is not None:
            tower = torch.relu(self.pointwise(tower))
        logits: torch.Tensor = self.dense(tower.flatten(1))
        return logits


class PlanesHead(nn.Module):
    """A 1 x 1 convolution to planes of actions, and a dense layer for the actions beside the board.

    Args:
        tower: shape of what the tower gives, (F, H, W).
        shape: where the actions are.

    Attributes:
        places: [A]: where each action's logit is, those of all cells first, then those of the actions beside the board.
    """

    places: torch.Tensor

    def __init__(self, tower: Sequence[int], shape: PolicyShape) -> None:
        super().__init__()
        self.planes = convolution(tower[0], shape.planes, kernel=1)
        beside = [action for action, index in enumerate(shape.indices) if index < 0]
        self.beside = linear(tower[0], len(beside)) if beside else None
        first = shape.planes * math.prod(tower[1:])
        places = [first + beside.index(a) if i < 0 else i for a, i in enumerate(shape.indices)]
        self.register_buffer("places", torch.tensor(places), persistent=False)

    def forward(self, tower: torch.Tensor) -> torch.Tensor:
        """[N, F, H, W] to logits [N, A]."""
        logits: torch.Tensor = self.planes(tower).flatten(1)
        if self.beside is not None:
            logits = torch.cat([logits, self.beside(tower.mean((2, 3)))], 1)
        return logits.index_select(1, self.places)


PolicyHead = DenseHead | PlanesHead


def make_head(tower: Sequence[int], board: Sequence[int], config: NetworkConfig, shape: PolicyShape) -> PolicyHead:
    """The head that the settings ask for, without weights that mean anything.

    Args:
        tower: shape of what the tower gives.
        board: shape of an encoded state.

    Raises:
        ConfigError: planes are asked for where actions are on no cells, or where the tower's board is smaller.
    """
    same_board = len(tower) == 3 and tuple(tower[1:]) == tuple(board[1:])
    if config.policy == "planes":
        if not shape.planes:
            raise ConfigError.at("network.policy", "='planes' needs actions on the cells of the board: take 'dense'")
        if not same_board:
            raise ConfigError.at(
                "network.policy",
                f"='planes' needs a tower of the board's size, {tuple(board[1:])!r}, got {tuple(tower[1:])!r}: take "
                "network.architecture 'auto', 'r1', 'r2' or 'r3'",
            )
    if shape.planes and same_board and config.policy != "dense":
        return PlanesHead(tower, shape)
    if len(tower) != 3 and config.policy_filters is not None:
        raise ConfigError.at(
            "network.policy_filters", f"must be none where observations are no boards, got {config.policy_filters!r}"
        )
    return DenseHead(tower, shape.actions, config.policy_filters)
