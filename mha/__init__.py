"""Multi-head attention that reads like its formula: the core of the textbook.

Only numpy is imported here. Drawings, widgets and exercises live in the submodules
`plots`, `pictures`, `widgets` and are imported by name.
"""

from .attention import causal_mask, scaled_dot_product_attention, softmax
from .cost import kv_cache_bytes, multiply_adds, parameters, softmax_entries
from .multihead import MultiHeadAttention, Trace, merge_heads, split_heads

__all__ = [
    "MultiHeadAttention",
    "Trace",
    "causal_mask",
    "kv_cache_bytes",
    "merge_heads",
    "multiply_adds",
    "parameters",
    "scaled_dot_product_attention",
    "softmax",
    "softmax_entries",
    "split_heads",
]
