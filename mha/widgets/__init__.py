"""Widgets that need no kernel: every state is computed when the notebook runs, and carried along."""

from .explorer import Explorer, View
from .frames import frames

__all__ = ["Explorer", "View", "frames"]
