"""Proofs of positions: `solver` proves what a position is worth."""

from __future__ import annotations

from athenan_spiel.solving.solver import Proof, ProofBounds, resident_megabytes, solve

__all__ = ["Proof", "ProofBounds", "resident_megabytes", "solve"]
