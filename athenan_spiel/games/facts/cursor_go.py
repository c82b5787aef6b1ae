"""Go played with a cursor: its board, score and stones are those of Go."""

from __future__ import annotations

import dataclasses

from athenan_spiel.games.facts import go
from athenan_spiel.games.facts.readers import apart

FACTS = dataclasses.replace(go.FACTS, transposition=apart("As Go."))
