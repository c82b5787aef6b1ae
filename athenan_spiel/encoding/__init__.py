"""What the network sees: states as planes (`encoder`), and their compact storage (`compact`)."""

from __future__ import annotations

from athenan_spiel.encoding.compact import CompactRows, ObservationStore

__all__ = ["CompactRows", "ObservationStore"]
