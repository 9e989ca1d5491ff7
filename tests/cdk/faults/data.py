from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tests.cdk import test_validation as validation
from tests.cdk.data import test_buckets as buckets
from tests.cdk.data import test_database as database
from tests.cdk.data import test_migrations as migrations
from tests.cdk.data import test_queues as queues
from tests.cdk.faults.fault import Fault, at, set_at, without
from tests.cdk.templates import Templates

PUT = {"PUT", "GET", "HEAD"}


def cors(**properties: object) -> partial[None]:
    return partial(_change_cors, properties=properties)


def _change_cors(templates: Templates, *, properties: dict[str, object]) -> None:
    [bucket] = at(templates, "data/Slides/Resource")
    bucket["Properties"]["CorsConfiguration"]["CorsRules"][0].update(properties)


def originals(change: Callable[[dict[str, Any]], object]) -> partial[None]:
    return partial(_change_originals, change=change)


def _change_originals(templates: Templates, *, change: Callable[[dict[str, Any]], object]) -> None:
    change(buckets.rule(templates, "Slides", "originals"))


def small_files_move(templates: Templates) -> None:
    moves = buckets.properties(templates, "Slides")["LifecycleConfiguration"]
    moves["TransitionDefaultMinimumObjectSize"] = "varies_by_storage_class"


def all_connections(templates: Templates) -> None:
    [group] = at(templates, "data/Database/Proxy/ProxyTargetGroup")
    group["Properties"]["ConnectionPoolConfigurationInfo"]["MaxConnectionsPercent"] = 100


def migrations_before_the_door_is_open(templates: Templates) -> None:
    [trigger] = templates.resources("Custom::Trigger", "data").values()
    trigger["DependsOn"] = [id for id in trigger["DependsOn"] if "OwnerClients" not in id]


def owner_without_the_key(templates: Templates) -> None:
    [policy] = at(templates, "data/Owner/MigrateRole/DefaultPolicy/Resource")
    document = policy["Properties"]["PolicyDocument"]
    document["Statement"] = [s for s in document["Statement"] if s["Action"] != "kms:Decrypt"]


FAULTS = (
    Fault(
        "a bucket may be made public",
        set_at("data/Slides/Resource", PublicAccessBlockConfiguration=None),
        (partial(buckets.test_no_bucket_can_be_made_public, name="Slides"),),
    ),
    Fault(
        "objects travel without TLS",
        without("data/Results/Policy/Resource"),
        (partial(buckets.test_objects_travel_by_TLS_1_2_or_newer, name="Results"),),
    ),
    Fault(
        "any origin may upload",
        cors(AllowedOrigins=["*"]),
        (
            partial(
                buckets.test_browsers_of_our_page_alone_read_and_write_and_see_what_uploads_need_F43,
                name="Slides",
                methods=PUT,
            ),
        ),
    ),
    Fault(
        "browsers do not see the ETag of a part",
        cors(ExposedHeaders=["x-amz-checksum-sha256"]),
        (
            partial(
                buckets.test_browsers_of_our_page_alone_read_and_write_and_see_what_uploads_need_F43,
                name="Slides",
                methods=PUT,
            ),
        ),
    ),
    Fault(
        "slides are not versioned",
        set_at("data/Slides/Resource", VersioningConfiguration=None),
        (partial(buckets.test_what_is_overwritten_or_deleted_can_be_brought_back, name="Slides"),),
    ),
    Fault(
        "parts of broken uploads stay for ever",
        set_at("data/Slides/Resource", LifecycleConfiguration={"Rules": []}),
        (partial(buckets.test_but_not_for_ever_and_unfinished_uploads_go_after_three_days_F44, name="Slides"),),
    ),
    Fault(
        "originals stay in the dear class for a quarter",
        originals(lambda rule: rule["Transitions"][0].update(TransitionInDays=90)),
        (buckets.test_originals_are_in_the_dear_class_for_a_month,),
    ),
    Fault(
        "files of a few bytes are charged as 128 KB",
        small_files_move,
        (buckets.test_files_that_would_be_charged_as_larger_ones_do_not_move,),
    ),
    Fault(
        "slides that nobody archived must be restored before they are read",
        originals(lambda rule: rule["Transitions"][0].update(StorageClass="GLACIER")),
        (buckets.test_slides_that_nobody_archived_are_read_without_a_restore,),
    ),
    Fault(
        "a queue has no dead letters",
        set_at("data/Queues/shards-high/Resource", RedrivePolicy=None),
        (queues.test_what_was_received_too_often_goes_to_the_queues_own_dead_letters_F5_F6,),
    ),
    Fault(
        "dead letters are gone after four days",
        set_at("data/Queues/plan-dlq/Resource", MessageRetentionPeriod=4 * queues.DAY),
        (queues.test_dead_letters_are_kept_fourteen_days_and_longer_than_messages_F6,),
    ),
    Fault(
        "a message comes back while its function works on it",
        set_at("data/Queues/inspect/Resource", VisibilityTimeout=1_799),
        (partial(queues.test_a_message_stays_hidden_six_times_as_long_as_its_function_may_take_F7, name="inspect"),),
    ),
    Fault(
        "the shard of a dead worker is hidden for hours",
        set_at("data/Queues/shards-normal/Resource", VisibilityTimeout=43_200),
        (partial(queues.test_a_message_of_a_dead_worker_comes_back_in_minutes_F1, name="shards-normal"),),
    ),
    Fault(
        "a property that CloudFormation does not know",
        set_at("data/Queues/plan/Resource", VisibilityTimeOut=60),
        (validation.test_cloudformation_validate_finds_nothing,),
    ),
    Fault(
        "a value that CloudFormation does not know",
        set_at("data/Owner/Migrate/Resource", Architectures=["arm65"]),
        (validation.test_cloudformation_validate_finds_nothing,),
    ),
    Fault(
        "the database has a public address",
        set_at("data/Database/Instance/Resource", PubliclyAccessible=True),
        (database.test_the_database_is_private_and_has_no_way_out,),
    ),
    Fault(
        "production's database can be deleted",
        set_at("data/Database/Instance/Resource", DeletionProtection=False),
        (database.test_production_survives_a_zone_and_thirty_days_of_mistakes,),
    ),
    Fault(
        "the proxy takes all connections",
        all_connections,
        (database.test_the_proxy_opens_no_more_and_who_waits_is_told_soon_F49,),
    ),
    Fault(
        "migrations run before the database lets them in",
        migrations_before_the_door_is_open,
        (migrations.test_migrations_run_once_the_database_may_be_reached_F52,),
    ),
    Fault(
        "a failed migration goes unnoticed",
        set_at("data/Owner/Migrations/*", InvocationType="Event"),
        (migrations.test_a_migration_that_fails_fails_the_deployment_F52,),
    ),
    Fault(
        "the owner may not decrypt its password",
        owner_without_the_key,
        (partial(migrations.test_reading_the_password_includes_decrypting_it_F41, name="migrate"),),
    ),
)
