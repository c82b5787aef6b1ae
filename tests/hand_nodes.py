"""Nodes made by hand."""

from __future__ import annotations

from athenan_spiel.search.node import Kind


def kind(maximises: bool) -> Kind:
    """The kind of a node where player 0 is to move, or of one where player 1 is."""
    return Kind.MAXIMISER if maximises else Kind.MINIMISER
