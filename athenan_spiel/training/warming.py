"""The warm-up of a run: random terminal states are learned before the first match. The run's clock stands still."""

from __future__ import annotations

import contextlib

from athenan_spiel.system.stopping import StopRequests
from athenan_spiel.training.broadcast import Broadcast
from athenan_spiel.training.clock import Pace, RunClock, now
from athenan_spiel.training.events import WarmUpFinished, WarmUpProgress
from athenan_spiel.training.learner_side import LearnerSide
from athenan_spiel.training.saving import Saving


def warm_up(learner: LearnerSide, clock: RunClock, saving: Saving, stops: StopRequests, emit: Broadcast) -> bool:
    """Learn what is left of the warm-up; False if a stop request came first."""
    start, pace = now(), Pace()
    before = states = learner.counters.warm_up_states
    total = 0.0
    next_checkpoint = start + saving.spacing
    with contextlib.closing(learner.warm_up()) as minibatches:
        while True:
            try:
                with stops.droppable():
                    batch = next(minibatches, None)
            except KeyboardInterrupt:
                return False
            if batch is None:
                break
            loss = learner.learn_warm_up(batch)
            total += loss * len(batch.labels)
            states = learner.counters.warm_up_states
            clock.restart()
            moment = now()
            if pace.is_due(moment):
                emit(WarmUpProgress(matches=0, warm_up_states=states, minibatch_loss=loss))
            if stops.requested:
                return False
            if moment >= next_checkpoint:
                saving.save(emit)
                next_checkpoint = now() + saving.spacing
    if states > before:
        loss = total / (states - before)
        emit(WarmUpFinished(matches=0, warm_up_states=states, loss=loss, warm_up_seconds=now() - start))
        saving.save(emit)
    return True
