"""What the network sees: states as planes (`encoder`), and their compact storage (`compact`)."""

from __future__ import annotations

from athenan_spiel.encoding.compact import CompactRows, ObservationStore
from athenan_spiel.encoding.encoder import Encoder

__all__ = ["CompactRows", "Encoder", "ObservationStore"]
