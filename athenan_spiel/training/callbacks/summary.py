"""Progress of a run, collected from its events for the live view and the plain lines."""

from __future__ import annotations

from collections import deque

from athenan_spiel.errors import printable
from athenan_spiel.training.events import (
    BestReplaced,
    EvaluationFailed,
    EvaluationFinished,
    EvaluationStarted,
    Event,
    LearningFinished,
    LearningIsLate,
    MatchFinished,
    RolledBack,
    RoundFinished,
    RoundProgress,
    RunStarted,
    SettingsAdapted,
    WarmUpFinished,
    WarmUpProgress,
)

RECENT = 50
"""Number of games that count as recent."""
TIMED = (
    RunStarted,
    WarmUpProgress,
    WarmUpFinished,
    RoundProgress,
    LearningIsLate,
    SettingsAdapted,
    RoundFinished,
    RolledBack,
)
"""Events with a field `seconds`, the training time."""
OF_EVALUATION = (EvaluationStarted, EvaluationFinished, EvaluationFailed, BestReplaced)
"""Events whose `matches` refer to the evaluated network."""


def points_text(event: EvaluationFinished) -> str:
    """Returns the score of the network against an opponent."""
    forfeits = f", {event.forfeits} of them by forfeit" if event.forfeits else ""
    tally = f"{event.wins} won, {event.draws} drawn, {event.losses} lost{forfeits}"
    interval = f"{event.low:.0%} to {event.high:.0%}"
    return f"{event.points:.0%} ({interval}) against {printable(event.opponent)}: {tally}"


def evaluation_line(event: Event) -> str | None:
    """Returns a line about the result of an evaluation; None for other events."""
    if isinstance(event, EvaluationFinished):
        return f"evaluation after {event.matches:,} games: {points_text(event)}"
    if isinstance(event, EvaluationFailed):
        return f"evaluation after {event.matches:,} games: failed, as {printable(event.problem)}"
    if isinstance(event, BestReplaced):
        return f"best network so far: after {event.matches:,} games, with {event.points:.0%} of the points"
    return None


class RunSummary:
    """A callback that keeps the newest values of events. Unknown values are None.

    Attributes:
        started: the run's `RunStarted`.
        matches, seconds: totals of the run.
        progress: the round in progress; None between rounds.
        speed: evaluations per second of search.
        loss, policy_loss, last_round: the newest losses, and the last round.
        evaluation: results of the newest evaluated network, one per opponent.
        lengths, results: of the recent games; a result is 1, 0 or -1 for player 0, or a single player's score.
        cut_off: whether the limit on the length ended each of the recent games.
        alone: whether the game has one player.
        best_score: best score of a single player in this session.
        warm_up: the warm-up in progress, else None.
    """

    def __init__(self) -> None:
        self.started: RunStarted | None = None
        self.matches = 0
        self.seconds = 0.0
        self.progress: RoundProgress | None = None
        self.speed: float | None = None
        self.loss: float | None = None
        self.policy_loss: float | None = None
        self.last_round: RoundFinished | None = None
        self.evaluation: list[EvaluationFinished] = []
        self.lengths: deque[int] = deque(maxlen=RECENT)
        self.results: deque[float] = deque(maxlen=RECENT)
        self.cut_off: deque[bool] = deque(maxlen=RECENT)
        self.alone = False
        self.best_score: float | None = None
        self.warm_up: WarmUpProgress | None = None

    def __call__(self, event: Event) -> None:
        """Update the values."""
        if isinstance(event, RunStarted):
            self.started = event
        elif isinstance(event, WarmUpProgress):
            self.warm_up = event
            self.loss = event.minibatch_loss
        elif isinstance(event, WarmUpFinished):
            self.warm_up = None
            self.loss = event.loss
        elif isinstance(event, RoundProgress):
            self.progress = event
            self.speed = event.evaluations_per_second
        elif isinstance(event, MatchFinished):
            self.lengths.append(event.length)
            self.cut_off.append(event.cut_off)
            self._add_result(event.returns)
        elif isinstance(event, LearningFinished):
            self.loss = event.loss if event.loss is not None else self.loss
            self.policy_loss = event.policy_loss if event.policy_loss is not None else self.policy_loss
        elif isinstance(event, RoundFinished):
            self.progress = None
            self.last_round = event
            self.speed = event.evaluations / event.search_seconds if event.search_seconds > 0 else self.speed
        elif isinstance(event, EvaluationFinished):
            self.evaluation = [*(e for e in self.evaluation if e.matches == event.matches), event]
        elif isinstance(event, RolledBack):
            self.progress = self.warm_up = self.loss = self.policy_loss = None
            self.lengths.clear()
            self.results.clear()
            self.cut_off.clear()
        if isinstance(event, TIMED):
            self.seconds = event.seconds
        if not isinstance(event, OF_EVALUATION):
            self.matches = event.matches

    @property
    def loss_text(self) -> str | None:
        """Newest value loss and policy loss, as text; None before the first."""
        if self.loss is None:
            return None
        return f"{self.loss:.4g}" + ("" if self.policy_loss is None else f", policy loss {self.policy_loss:.4g}")

    def _add_result(self, returns: tuple[float, ...]) -> None:
        first = returns[0]
        self.alone = len(returns) == 1
        self.results.append(first if self.alone else (first > 0) - (first < 0))
        if self.alone:
            self.best_score = first if self.best_score is None else max(self.best_score, first)

    @property
    def warm_up_text(self) -> str | None:
        """Progress of the warm-up in progress."""
        if self.warm_up is None or self.started is None:
            return None
        settings = self.started.config.warm_up
        total = "" if settings.states is None else f" of {settings.states:,}"
        kind = "random terminal states" if settings.method == "ends" else "states of random games"
        return f"{self.warm_up.warm_up_states:,}{total} {kind}"

    @property
    def warm_up_done(self) -> float | None:
        """Fraction of the warm-up in progress, in [0, 1]; None without one, or if its time is limited."""
        states = None if self.started is None else self.started.config.warm_up.states
        return None if self.warm_up is None or states is None else self.warm_up.warm_up_states / states

    @property
    def workers_text(self) -> str | None:
        """CPU use of the workers and staleness of their weights, if there are workers."""
        if self.started is None or self.last_round is None or self.last_round.workers_busy is None:
            return None
        r, count = self.last_round, self.started.config.workers.count
        busy = sum(self.last_round.workers_busy) / count
        lost = f", {r.workers_lost} lost" if r.workers_lost else ""
        return f"{count}, busy {busy:.0%} of the time, weights {r.staleness:.1f} phases old{lost}"

    @property
    def mean_length(self) -> float | None:
        """Mean length of the recent games."""
        return sum(self.lengths) / len(self.lengths) if self.lengths else None

    @property
    def results_text(self) -> str | None:
        """Results of the recent games for player 0."""
        if not self.results:
            return None
        cut = f", {sum(self.cut_off)} cut off by the limit on length" if any(self.cut_off) else ""
        if self.alone:
            mean = sum(self.results) / len(self.results)
            return f"score {mean:g} on average; the best of this session is {self.best_score:g}{cut}"
        wins, draws, losses = (self.results.count(result) for result in (1, 0, -1))
        return f"{wins} won, {draws} drawn, {losses} lost by the first player{cut}"

    @property
    def evaluation_text(self) -> str | None:
        """The last evaluation, with its intervals in parentheses."""
        if not self.evaluation:
            return None
        scores = "; ".join(points_text(e) for e in self.evaluation)
        return f"{scores}, after {self.evaluation[0].matches:,} games"

    @property
    def seconds_left(self) -> float | None:
        """Estimated time to the run's next limit, in seconds; None without a limit."""
        if self.started is None:
            return None
        config, left = self.started.config, []
        if config.seconds is not None:
            left.append(config.seconds - self.seconds)
        played = self.matches - self.started.matches
        if config.matches is not None and played > 0:
            pace = (self.seconds - max(self.started.seconds, config.warm_up_seconds)) / played
            left.append((config.matches - self.matches) * pace)
        return max(0.0, min(left)) if left else None

    @property
    def fraction_done(self) -> float | None:
        """Fraction of the run, or of the warm-up in progress, completed, in [0, 1]."""
        if self.started is None:
            return None
        config = self.started.config
        if (done := self.warm_up_done) is not None:
            return done
        if config.matches is None and config.seconds is None:
            return None
        return config.fraction_done(self.matches, self.seconds)
