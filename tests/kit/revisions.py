"""New rules for a job, stored and carried to their end as the engine does, with the fake pipeline as the judge."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from tests.kit.clock import ManualClock
from tests.kit.fakes import FakeSite

from holdfast.domain.checkpoint import CheckpointPolicy
from holdfast.domain.job import Job, Limits, Pace
from holdfast.engine.revising import carry_on
from holdfast.ports.jobs import Jobs, Revision
from holdfast.ports.ledger import Ledger

if TYPE_CHECKING:
    from holdfast.engine.tools import Tools


@dataclass(frozen=True)
class _Judging:
    jobs: Jobs
    ledger: Ledger
    site: FakeSite = field(default_factory=lambda: FakeSite(ManualClock()))

    def pipeline_of(self, _kind: str, _spec: Mapping[str, Any]) -> FakeSite:
        return self.site


async def begin(
    jobs: Jobs, job: Job, limits: Limits, spec: Mapping[str, Any] | None = None, **how: Any
) -> None:
    """The new rules are stored, and the job can't be claimed; `how` is what else a revision says."""
    await jobs.change(
        job.id,
        limits=limits,
        pace=Pace(concurrency=9, per_host=1, delay_s=0.25),
        checkpoints=CheckpointPolicy(items=3, seconds=7.0),
        spec=spec,
        revision=Revision(job.spec, job.limits.max_depth, **how),
    )


async def carried_on(jobs: Jobs, ledger: Ledger, job_id: int) -> Job:
    """Whatever revision is under way comes to its end."""
    await carry_on(cast("Tools", _Judging(jobs, ledger)), job_id)
    return await ledger.job(job_id)


async def revised(
    store: Any,
    job: Job,
    limits: Limits,
    spec: Mapping[str, Any] | None = None,
    **how: Any,
) -> Job:
    """Begun and brought to its end."""
    await begin(store.jobs, job, limits, spec, **how)
    return await carried_on(store.jobs, store.ledger, job.id)
