"""Multi-head attention: Concat(head_1 ... head_h) W_o (Vaswani et al. 2017, section 3.2.2)."""

from dataclasses import dataclass

import numpy as np

from . import checks
from .attention import attend, default_scale


def split_heads(x, num_heads):
    """Cut features into heads: (..., seq, d) -> (..., num_heads, seq, d / num_heads).

    Head i gets features i*d/num_heads ... (i+1)*d/num_heads of every token. dtype is kept.

    Raises ValueError if num_heads does not divide d.
    Vaswani et al. (2017), section 3.2.2.
    """
    x = checks.array("x", x, axes=2)
    *lead, seq, d = x.shape
    width = checks.head_width(d, num_heads)
    return x.reshape(*lead, seq, num_heads, width).swapaxes(-2, -3)


def merge_heads(x):
    """Put heads side by side: (..., num_heads, seq, d) -> (..., seq, num_heads * d).

    The inverse of split_heads; Concat in the paper's notation. dtype is kept.

    Raises ValueError if x has fewer than 3 axes.
    Vaswani et al. (2017), section 3.2.2.
    """
    x = checks.array("x", x, axes=3)
    *lead, num_heads, seq, d = x.shape
    return x.swapaxes(-2, -3).reshape(*lead, seq, num_heads * d)


@dataclass(frozen=True, eq=False, repr=False)
class Trace:
    """Every step of one forward pass, by its name in the formula.

    q (..., num_heads, q_len, d_k); k, v (..., num_kv_heads, kv_len, d_k or d_v);
    scores and weights (..., num_heads, q_len, kv_len), scores scaled and before the mask;
    heads (..., num_heads, q_len, d_v); concat (..., q_len, num_heads * d_v);
    output (..., q_len, d_model).
    """

    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    scores: np.ndarray
    mask: np.ndarray | None
    weights: np.ndarray
    heads: np.ndarray
    concat: np.ndarray
    output: np.ndarray

    def __repr__(self):
        steps = (f"{name}: {'none' if a is None else a.shape}" for name, a in vars(self).items())
        return f"Trace({', '.join(steps)})"


@dataclass(frozen=True, eq=False, repr=False)
class MultiHeadAttention:
    """h attentions side by side on projections of their own, joined and mixed by W_o.

    Parameters
    ----------
    W_q : (width of query, num_heads * d_k); columns [i*d_k:(i+1)*d_k] are head i's
    W_k : (width of key, num_kv_heads * d_k)
    W_v : (width of value, num_kv_heads * d_v)
    W_o : (num_heads * d_v, d_model); rows [i*d_v:(i+1)*d_v] take head i
    num_heads : h
    b_q, b_k, b_v, b_o : one number a column of their matrix, or None
    num_kv_heads : heads of key and value, each shared by num_heads / num_kv_heads
        neighbouring query heads; None is num_heads
    scale : float; None is 1 / sqrt(d_k)

    Raises ValueError or TypeError, when it is made, if a shape or a count does not fit.
    Vaswani et al. (2017), section 3.2.2; grouped heads: Ainslie et al. (2023), section 2.2.
    """

    W_q: np.ndarray
    W_k: np.ndarray
    W_v: np.ndarray
    W_o: np.ndarray
    num_heads: int
    b_q: np.ndarray | None = None
    b_k: np.ndarray | None = None
    b_v: np.ndarray | None = None
    b_o: np.ndarray | None = None
    num_kv_heads: int | None = None
    scale: float | None = None

    def __post_init__(self):
        num_heads = checks.size("num_heads", self.num_heads)
        kv_heads = num_heads if self.num_kv_heads is None else checks.size("num_kv_heads", self.num_kv_heads)
        if num_heads % kv_heads:
            raise ValueError(f"num_kv_heads={kv_heads} must divide num_heads={num_heads}")
        fields = {"num_heads": num_heads, "num_kv_heads": kv_heads}
        for name in ("W_q", "W_k", "W_v", "W_o"):
            fields[name] = W = checks.floats(name, getattr(self, name))
            if W.ndim != 2 or 0 in W.shape:
                raise ValueError(f"{name} needs 2 axes (in, out), each at least 1, but has shape {W.shape}")
            bias = "b" + name[1:]
            if getattr(self, bias) is not None:
                fields[bias] = b = checks.floats(bias, getattr(self, bias))
                if b.shape != W.shape[1:]:
                    raise ValueError(f"{bias} has shape {b.shape}, but {name} {W.shape} needs {W.shape[1:]}")
        d_k = checks.head_width(fields["W_q"].shape[1], num_heads, "width of W_q")
        d_v = checks.head_width(fields["W_o"].shape[0], num_heads, "height of W_o")
        for name, width in (("W_k", d_k), ("W_v", d_v)):
            found = fields[name].shape[1]
            if found != kv_heads * width:
                raise ValueError(
                    f"{name} has {found} columns, but num_kv_heads={kv_heads} of width {width} take {kv_heads * width}"
                )
        fields["scale"] = default_scale(self.scale, d_k)
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @classmethod
    def init(cls, d_model, num_heads, *, rng, d_k=None, d_v=None, bias=False, num_kv_heads=None):
        """A layer with random normal weights of variance 1 / (rows of the matrix) and zero biases.

        rng is a numpy Generator, or a seed for one. d_k=None is d_model / num_heads; d_v=None is d_k.

        Raises ValueError if num_heads does not divide d_model, where d_k is not given.
        """
        d_model = checks.size("d_model", d_model)
        num_heads = checks.size("num_heads", num_heads)
        d_k = checks.head_width(d_model, num_heads) if d_k is None else checks.size("d_k", d_k)
        d_v = d_k if d_v is None else checks.size("d_v", d_v)
        kv_heads = num_heads if num_kv_heads is None else checks.size("num_kv_heads", num_kv_heads)
        if not isinstance(rng, (np.random.Generator, np.random.RandomState)):
            rng = np.random.default_rng(checks.size("rng", rng, least=0))
        shapes = {
            "q": (d_model, num_heads * d_k),
            "k": (d_model, kv_heads * d_k),
            "v": (d_model, kv_heads * d_v),
            "o": (num_heads * d_v, d_model),
        }
        weights = {f"W_{x}": rng.standard_normal(shape) / np.sqrt(shape[0]) for x, shape in shapes.items()}
        biases = {f"b_{x}": np.zeros(shape[1]) for x, shape in shapes.items()} if bias else {}
        return cls(**weights, num_heads=num_heads, **biases, num_kv_heads=kv_heads)

    d_model = property(lambda self: self.W_o.shape[1], doc="Width of the output.")
    d_k = property(lambda self: self.W_q.shape[1] // self.num_heads, doc="Width of one head's queries and keys.")
    d_v = property(lambda self: self.W_o.shape[0] // self.num_heads, doc="Width of one head's values.")

    def __repr__(self):
        return f"MultiHeadAttention(d_model={self.d_model}, num_heads={self.num_heads}, d_k={self.d_k}, d_v={self.d_v})"

    @np.errstate(under="ignore")
    def __call__(self, query, key=None, value=None, *, mask=None):
        """The layer's output (..., q_len, d_model).

        Parameters
        ----------
        query : (..., q_len, width of query)
        key : (..., kv_len, width of key); None: self-attention, key is query
        value : (..., kv_len, width of value); None: value is key
        mask : boolean (True = may attend) or float (added to the scores)
            2 axes (q_len, kv_len), or all axes of the weights: (..., num_heads or 1, q_len, kv_len)

        Raises ValueError or TypeError naming the argument that does not fit.
        """
        steps, dtype = self._steps(query, key, value, mask)
        return steps["output"].astype(dtype, copy=False)

    @np.errstate(under="ignore", over="ignore")  # a score too large for its dtype is inf
    def trace(self, query, key=None, value=None, *, mask=None):
        """Every step of `__call__` with the same arguments, as a Trace."""
        steps, dtype = self._steps(query, key, value, mask, keep=("scores", "weights"))
        mask = steps.pop("mask")
        return Trace(mask=mask, **{name: a.astype(dtype, copy=False) for name, a in steps.items()})

    def _steps(self, query, key, value, mask, keep=()):
        """({step: array}, dtype of the result); scores and weights only where they are kept."""
        key = query if key is None else key
        value = key if value is None else value
        inputs = [checks.floats(n, a, axes=2) for n, a in (("query", query), ("key", key), ("value", value))]
        for name, x, W in zip(("query", "key", "value"), inputs, (self.W_q, self.W_k, self.W_v)):
            if x.shape[-1] != W.shape[0]:
                raise ValueError(f"{name} {x.shape} has {x.shape[-1]} features, but W_{name[0]} takes {W.shape[0]}")
        query, key, value = inputs
        if key.shape[-2] != value.shape[-2]:
            raise ValueError(f"key and value must have the same kv_len: {key.shape[-2]} is not {value.shape[-2]}")
        lead = checks.broadcast(query=query.shape[:-2], key=key.shape[:-2], value=value.shape[:-2])
        weights = (self.W_q, self.W_k, self.W_v, self.W_o, self.b_q, self.b_k, self.b_v, self.b_o)
        (query, key, value, W_q, W_k, W_v, W_o, b_q, b_k, b_v, b_o), dtype = checks.working(*inputs, *weights)
        mask, lead = self._mask(mask, query.dtype, lead, query.shape[-2], key.shape[-2])

        q = split_heads(project(query, W_q, b_q), self.num_heads)  # (..., num_heads, q_len, d_k)
        k = split_heads(project(key, W_k, b_k), self.num_kv_heads)  # (..., num_kv_heads, kv_len, d_k)
        v = split_heads(project(value, W_v, b_v), self.num_kv_heads)  # (..., num_kv_heads, kv_len, d_v)
        shared = self.num_heads // self.num_kv_heads
        # Laid out so that merge_heads has nothing to move.
        heads = np.empty((*lead, query.shape[-2], self.num_heads, self.d_v), q.dtype).swapaxes(-2, -3)
        kept = attend(q, repeat(k, shared), repeat(v, shared), mask, self.scale, heads, keep)
        concat = merge_heads(heads)  # (..., q_len, num_heads * d_v)
        output = project(concat, W_o, b_o)  # (..., q_len, d_model)
        steps = {"q": q, "k": k, "v": v, "mask": mask, **kept, "heads": heads}
        return steps | {"concat": concat, "output": output}, dtype

    def _mask(self, mask, dtype, lead, q_len, kv_len):
        """(mask as an array, joint leading axes of the inputs and the mask)."""
        mask = checks.mask_array(mask, dtype)
        if mask is None:
            return None, lead
        axes = len(lead) + 3
        if mask.ndim not in (2, axes):
            hint = "; mask[:, None] gives each batch entry one mask for all heads" if mask.ndim == 3 == axes - 1 else ""
            raise ValueError(
                f"mask {mask.shape} needs 2 axes (q_len, kv_len) or all {axes} axes "
                f"(..., num_heads or 1, q_len, kv_len){hint}"
            )
        *lead, heads = checks.check_mask(mask, (*lead, self.num_heads), q_len, kv_len)
        if heads != self.num_heads:
            raise ValueError(f"mask {mask.shape} is for {heads} heads, but num_heads={self.num_heads}")
        return mask, lead


def project(x, W, b):
    """x W + b on the last axis, as one matrix product whatever the leading axes are."""
    y = x.reshape(-1, W.shape[0]) @ W
    if b is not None:
        y += b
    return y.reshape(*x.shape[:-1], W.shape[1])


def repeat(x, times):
    """Each key/value head `times` in a row: 0, 0, 1, 1, ... on the head axis."""
    return x if times == 1 else x.repeat(times, axis=-3)
