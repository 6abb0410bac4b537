"""What attention costs, as whole numbers from sizes (Vaswani et al. 2017, section 3.2.2 and table 1)."""

from .checks import head_width, size


def parameters(d_model, num_heads, *, d_k=None, d_v=None, bias=False, num_kv_heads=None):
    """Trained numbers in W_q, W_k, W_v and W_o (and biases): 4 * d_model**2 for every num_heads.

    d_k=None is d_model / num_heads; d_v=None is d_k.
    Raises ValueError if num_heads does not divide d_model, where d_k is not given.
    """
    d_model, q, k, v, o = _widths(d_model, num_heads, d_k, d_v, num_kv_heads)
    return d_model * (q + k + v + o) + (q + k + v + d_model if bias else 0)


def multiply_adds(q_len, kv_len, d_model, num_heads, *, d_k=None, d_v=None, num_kv_heads=None):
    """Multiply-adds of one forward pass: four projections, scores and weighted sums.

    One multiply-add is two floating point operations. The same for every num_heads
    at d_k = d_v = d_model / num_heads. Softmax, scale and biases are not in it.
    """
    return sum(breakdown(q_len, kv_len, d_model, num_heads, d_k=d_k, d_v=d_v, num_kv_heads=num_kv_heads).values())


def breakdown(q_len, kv_len, d_model, num_heads, *, d_k=None, d_v=None, num_kv_heads=None):
    """The same by step: {"projections": ..., "scores": ..., "weighted sums": ...}."""
    q_len, kv_len = size("q_len", q_len, least=0), size("kv_len", kv_len, least=0)
    d_model, q, k, v, o = _widths(d_model, num_heads, d_k, d_v, num_kv_heads)
    return {
        "projections": d_model * (q_len * (q + o) + kv_len * (k + v)),
        "scores": q_len * kv_len * q,  # d_k a head
        "weighted sums": q_len * kv_len * o,  # d_v a head
    }


def softmax_entries(q_len, kv_len, num_heads):
    """Weights that softmax makes: num_heads * q_len * kv_len, the part that grows with num_heads."""
    return size("num_heads", num_heads) * size("q_len", q_len, least=0) * size("kv_len", kv_len, least=0)


def kv_cache_bytes(kv_len, d_model, num_heads, *, d_k=None, d_v=None, num_kv_heads=None, bytes_per_number=2):
    """Bytes that one layer keeps for kv_len tokens' keys and values (bytes_per_number=2: float16)."""
    _, _, k, v, _ = _widths(d_model, num_heads, d_k, d_v, num_kv_heads)
    return size("kv_len", kv_len, least=0) * (k + v) * size("bytes_per_number", bytes_per_number)


def _widths(d_model, num_heads, d_k, d_v, num_kv_heads):
    """d_model and the total widths of q, k, v and concat."""
    d_model, num_heads = size("d_model", d_model), size("num_heads", num_heads)
    d_k = head_width(d_model, num_heads) if d_k is None else size("d_k", d_k)
    d_v = d_k if d_v is None else size("d_v", d_v)
    kv_heads = num_heads if num_kv_heads is None else size("num_kv_heads", num_kv_heads)
    if num_heads % kv_heads:
        raise ValueError(f"num_kv_heads={kv_heads} must divide num_heads={num_heads}")
    return d_model, num_heads * d_k, kv_heads * d_k, kv_heads * d_v, num_heads * d_v
