"""Callbacks of a training run: live view, progress bar, plain lines, JSON lines, `metrics.jsonl` and TensorBoard."""

from athenan_spiel.training.callbacks.lines import LinePrinter
from athenan_spiel.training.callbacks.live import LiveView, ProgressBar, view
from athenan_spiel.training.callbacks.metrics import JsonLines, MetricsFile
from athenan_spiel.training.callbacks.summary import RunSummary
from athenan_spiel.training.callbacks.tensorboard import TensorBoard

__all__ = ["JsonLines", "LinePrinter", "LiveView", "MetricsFile", "ProgressBar", "RunSummary", "TensorBoard", "view"]
