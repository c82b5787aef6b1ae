"""Callbacks of a training run: live view, progress bar, plain lines, JSON lines, `metrics.jsonl` and TensorBoard."""

from athenan_spiel.training.listeners.lines import LinePrinter
from athenan_spiel.training.listeners.live import LiveView, ProgressBar, view
from athenan_spiel.training.listeners.metrics import JsonLines, MetricsFile
from athenan_spiel.training.listeners.summary import RunSummary
from athenan_spiel.training.listeners.tensorboard import TensorBoard

__all__ = ["JsonLines", "LinePrinter", "LiveView", "MetricsFile", "ProgressBar", "RunSummary", "TensorBoard", "view"]
