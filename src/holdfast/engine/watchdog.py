"""Takes back what nobody holds any more: expired leases, stuck runners, workers whose lock has come free.

Judged by this watchdog's own monotonic clock while the database answers; wall clocks are never compared.
"""

import logging

from holdfast.domain.errors import DamagedJob, HoldfastError
from holdfast.domain.lease import Heartbeat, LeaseTimes, Sighting, expired, sight, stalled_for
from holdfast.domain.recovery import Recovery
from holdfast.domain.states import Status
from holdfast.ports.clock import Clock
from holdfast.ports.ledger import Ledger
from holdfast.ports.workers import Workers

log = logging.getLogger(__name__)


class Watchdog:
    """Sees heartbeats again and again; what looks the same for too long is taken back."""

    def __init__(self, ledger: Ledger, workers: Workers, clock: Clock, times: LeaseTimes) -> None:
        self._ledger = ledger
        self._workers = workers
        self._clock = clock
        self._times = times
        self._seen: dict[int, Sighting] = {}
        self._looked_at: float | None = None

    async def sweep(self) -> None:
        """Look once at every claimed chunk of the home. Recovering one twice is harmless: the epoch decides."""
        try:
            heartbeats = await self._ledger.heartbeats()
        except HoldfastError:
            self._seen.clear()
            raise
        now, wall = self._clock.monotonic(), self._clock.wall()
        longest = max(self._times.expire_s, 2 * self._times.sweep_s)
        if self._looked_at is not None and now - self._looked_at > longest:
            # The database did not answer, or this machine slept: nobody could renew, so every period starts anew.
            self._seen.clear()
        self._looked_at = now
        self._seen = {
            heartbeat.chunk_id: sight(self._seen.get(heartbeat.chunk_id), heartbeat, now, wall)
            for heartbeat in heartbeats
        }
        for heartbeat in heartbeats:
            try:
                await self._judge(heartbeat, self._seen[heartbeat.chunk_id], now)
            except DamagedJob as damaged:
                log.warning("can't take back what a dead worker held: %s", damaged)

    async def _judge(self, heartbeat: Heartbeat, sighting: Sighting, now: float) -> None:
        stalled = stalled_for(sighting, now) >= self._times.stall_s
        silent = False
        if self._workers.lives(heartbeat.worker_id) is False:
            why, silent = death(self._workers, heartbeat)
        elif expired(sighting, self._times, now):
            # It may have been stopped, or be on another machine that died: nobody can tell what it was at.
            why, silent = "its lease expired", True
        elif stalled:
            why = "no progress"
        else:
            return
        rules = Recovery(self._times.max_retries, self._times.max_stalls)
        status = await self._ledger.recover(
            heartbeat, why=why, stalled=stalled, rules=rules, now=self._clock.wall(), silent=silent
        )
        if status is not None:
            self._tell(heartbeat, status, why)

    def _tell(self, heartbeat: Heartbeat, status: Status, why: str) -> None:
        """Of the job that was taken back, which is seldom the one that this watchdog's worker is at."""
        retries, most = heartbeat.claims_since_progress, self._times.max_retries
        extra = {"job_id": heartbeat.short_id, "retry_count": retries}
        if status is Status.FAILED:
            log.error("job %s failed permanently (%s)", heartbeat.short_id, why, extra=extra)
        elif status is Status.PAUSED:
            log.warning("job %s is paused, as was asked for (%s)", heartbeat.short_id, why, extra=extra)
        elif retries:
            message = "recovering job %s, retry %d of %d (%s)"
            log.warning(message, heartbeat.short_id, retries, most, why, extra=extra)
        else:
            log.warning(
                "recovering job %s, which had made progress (%s)", heartbeat.short_id, why, extra=extra
            )


def death(workers: Workers, heartbeat: Heartbeat) -> tuple[str, bool]:
    """Why a dead worker's chunk is taken back, and whether it died without a trace."""
    crash = workers.crash(heartbeat.worker_id)
    return ("its worker died", True) if crash is None else (f"its worker crashed: {crash}", False)
