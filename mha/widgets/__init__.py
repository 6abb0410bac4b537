"""Widgets that need no kernel: every state is computed when the notebook runs, and carried along."""

from .explorer import Explorer, View, toy_explorer, toy_view
from .frames import frames
from .quiz import Exam, Quiz

__all__ = ["Exam", "Explorer", "Quiz", "View", "frames", "toy_explorer", "toy_view"]
