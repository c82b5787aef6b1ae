"""Proofs of the game-theoretic value of positions."""

from __future__ import annotations

from athenan_spiel.solving.solver import Proof, ProofBounds, resident_megabytes, solve

__all__ = ["Proof", "ProofBounds", "resident_megabytes", "solve"]
