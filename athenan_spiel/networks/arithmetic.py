"""In which arithmetic a processor is faster."""

from __future__ import annotations

from typing import Any

import torch


def has_matrix_units() -> bool:
    """Whether the processor has matrix units for bfloat16 (AMX).

    Without them networks are faster in float32, forwards and backwards, even where the processor has vector
    instructions for bfloat16: `athenan bench` and `benchmarks/learner.py` measure both.
    """
    # An older torch cannot be asked, and then float32 is always right.
    capabilities: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    return bool(capabilities.get("amx_bf16"))
