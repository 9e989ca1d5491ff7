from __future__ import annotations

from tests.cdk.faults.fault import Fault, set_at, without
from tests.cdk.observability import test_observability as observability
from tests.cdk.observability import test_runbook as runbook

FAULTS = (
    Fault(
        "an alarm tells nobody",
        set_at("observability/Alarms/api-errors/Resource", AlarmActions=None),
        (observability.test_every_alarm_tells_the_topic_when_it_begins_and_when_it_ends,),
    ),
    Fault(
        "an alarm does not say what to do",
        set_at("observability/Alarms/api-errors/Resource", AlarmDescription="Errors."),
        (observability.test_every_alarm_says_what_it_means_and_what_to_do,),
    ),
    Fault(
        "an alarm leads to an entry that the runbook has not",
        set_at(
            "observability/Alarms/api-errors/Resource",
            AlarmDescription="No. What to do: docs/how-to/runbook.md#nowhere",
        ),
        (runbook.test_every_alarm_leads_to_an_entry,),
    ),
    Fault(
        "nobody watches the dead letters of a queue",
        without("observability/Alarms/dead-letters-plan/Resource"),
        (observability.test_every_queue_is_watched_for_age_and_for_dead_letters,),
    ),
    Fault(
        "nobody watches how long normal work waits to be admitted",
        set_at("observability/Alarms/line-age-normal/Resource", MetricName="JobsWaiting"),
        (observability.test_planned_work_is_watched_while_it_waits_to_be_admitted,),
    ),
    Fault(
        "what alarms say can be read on the way",
        set_at("observability/Notices/Topic/Resource", KmsMasterKeyId=None),
        (observability.test_the_topic_is_encrypted,),
    ),
)
