from __future__ import annotations

from functools import partial

from tests.cdk import test_bundling as bundling
from tests.cdk import test_iam as iam
from tests.cdk.api import test_functions as functions
from tests.cdk.api import test_gateway as gateway
from tests.cdk.api import test_releases as releases
from tests.cdk.auth import test_auth as auth
from tests.cdk.faults.fault import Fault, at, set_at, without
from tests.cdk.realtime import test_realtime as realtime
from tests.cdk.templates import Templates
from tests.cdk.web import test_page_files as page_files
from tests.cdk.web import test_web as web

CACHING_OPTIMIZED = "658327ea-f89d-4fab-a63d-7e88639e58f6"


def large_bodies_are_blocked(templates: Templates) -> None:
    del gateway.rules(templates)["AWSManagedRulesCommonRuleSet"]["Statement"]["ManagedRuleGroupStatement"][
        "RuleActionOverrides"
    ]


def addresses_are_not_counted(templates: Templates) -> None:
    [acl] = at(templates, "api/Firewall/Acl")
    acl["Properties"]["Rules"] = [r for r in acl["Properties"]["Rules"] if r["Name"] != "rate-of-one-address"]


def credentials_are_counted_raw(templates: Templates) -> None:
    for name in ("credential", "credential-begins-work"):
        [key] = gateway.rate(templates, f"rate-of-one-{name}")["CustomKeys"]
        key["Header"]["TextTransformations"] = [{"Priority": 0, "Type": "NONE"}]


def slides_begin_no_work(templates: Templates) -> None:
    _, nouns = gateway.rate(templates, "rate-of-one-credential-begins-work")["ScopeDownStatement"]["AndStatement"][
        "Statements"
    ]
    either = nouns["OrStatement"]
    either["Statements"] = [
        one for one in either["Statements"] if "slides" not in one["ByteMatchStatement"]["SearchString"]
    ]


def without_decrypt(templates: Templates) -> None:
    for statement in functions.allowed(templates, "plan"):
        statement.said["Action"] = [action for action in statement.actions if action != "kms:Decrypt"]


def stitch_from_the_bundle_of_slides(templates: Templates) -> None:
    [stitch], [plan] = at(templates, "api/Functions/stitch/Resource"), at(templates, "api/Functions/plan/Resource")
    stitch["Properties"]["Code"] = plan["Properties"]["Code"]


def rights_of_webhook_send(templates: Templates) -> None:
    [policy] = at(templates, "api/Functions/webhook_sendRole/DefaultPolicy/Resource")
    [bucket] = [id for id in templates.resources("AWS::S3::Bucket", "data") if id.startswith("Slides")]
    statement = {"Effect": "Allow", "Action": "s3:GetObject", "Resource": bucket}
    policy["Properties"]["PolicyDocument"]["Statement"].append(statement)


def kept_for_an_hour(templates: Templates) -> None:
    realtime.api(templates)["LambdaAuthorizerConfig"]["AuthorizerResultTtlInSeconds"] = 3_600


def anybody_calls_the_authorizer(templates: Templates) -> None:
    [role] = at(templates, "api/Gateway/AskAuthorizer/Resource")
    role["Properties"]["AssumeRolePolicyDocument"]["Statement"][0]["Principal"] = {"AWS": "*"}


def answers_are_cached(templates: Templates) -> None:
    web.distribution(templates)["CacheBehaviors"][0]["CachePolicyId"] = CACHING_OPTIMIZED


def unsigned_page(templates: Templates) -> None:
    for origin in web.distribution(templates)["Origins"]:
        origin.pop("OriginAccessControlId", None)


def old_tls(templates: Templates) -> None:
    web.distribution(templates)["ViewerCertificate"]["MinimumProtocolVersion"] = "TLSv1"


def _back_to_exact_addresses(templates: Templates) -> None:
    assert auth.client(templates)["CallbackURLs"] == [f"{origin}/" for origin in templates.deployment.origins]


def index_at_any_time(templates: Templates) -> None:
    for copy in templates.resources("Custom::CDKBucketDeployment", "web").values():
        copy["DependsOn"] = [id for id in copy.get("DependsOn", ()) if "Rest" not in id and "Hashed" not in id]


def the_page_is_copied_at_once(templates: Templates) -> None:
    for copy in templates.resources("Custom::CDKBucketDeployment", "web").values():
        copy["Properties"]["Exclude"] = [one for one in copy["Properties"]["Exclude"] if one != "index.html"]


def an_alias_moves_at_once(templates: Templates) -> None:
    [alias] = at(templates, "api/Functions/Releases/api/Resource")
    del alias["UpdatePolicy"]


def a_queue_calls_the_function_itself(templates: Templates) -> None:
    [mapping] = at(templates, "api/Functions/plan-plan/Resource")
    [alias] = at(templates, "api/Functions/Releases/plan/Resource")
    mapping["Properties"]["FunctionName"] = alias["Properties"]["FunctionName"]


def the_last_version_raises_the_alarm(templates: Templates) -> None:
    [alarm] = at(templates, "api/Functions/Releases/stitch-crashes/Resource")
    alarm["Properties"]["Dimensions"] = [
        one for one in alarm["Properties"]["Dimensions"] if one["Name"] != "ExecutedVersion"
    ]


FAULTS = (
    Fault(
        "all requests reach a new version at once",
        an_alias_moves_at_once,
        (
            releases.test_a_tenth_of_the_calls_comes_first_and_messages_are_watched_longer,
            releases.test_an_alarm_brings_the_last_version_back,
        ),
    ),
    Fault(
        "a queue calls the newest code",
        a_queue_calls_the_function_itself,
        (releases.test_everybody_who_calls_a_function_with_an_alias_calls_the_alias,),
    ),
    Fault(
        "nothing brings the last version back",
        set_at("api/Functions/Releases/api-group/Resource", AutoRollbackConfiguration={"Enabled": False}),
        (releases.test_an_alarm_brings_the_last_version_back,),
    ),
    Fault(
        "crashes of the last version end a release",
        the_last_version_raises_the_alarm,
        (releases.test_a_crash_of_the_new_version_is_an_alarm_and_of_the_last_one_none,),
    ),
    Fault(
        "failed messages are not counted",
        without("api/Functions/Releases/notify-logged/Resource"),
        (releases.test_what_a_function_answers_and_logs_as_failed_is_an_alarm_too,),
    ),
    Fault(
        "index.html may come before the files that it names",
        index_at_any_time,
        (page_files.test_index_html_is_replaced_after_all_that_it_names,),
    ),
    Fault(
        "index.html is copied among others",
        the_page_is_copied_at_once,
        (page_files.test_index_html_is_replaced_after_all_that_it_names,),
    ),
    Fault(
        "files of the page expire",
        set_at("web/Page/Resource", LifecycleConfiguration={"Rules": [{"Status": "Enabled", "ExpirationInDays": 30}]}),
        (page_files.test_no_lifecycle_takes_files_of_the_release_that_is_live,),
    ),
    Fault(
        "the API is open",
        set_at("api/Gateway/Rest/Default/*/{proxy+}/ANY/Resource", AuthorizationType="NONE"),
        (gateway.test_all_routes_but_two_go_through_the_authorizer,),
    ),
    Fault(
        "a revoked key works for an hour",
        set_at("api/Gateway/Authorizer/Resource", AuthorizerResultTtlInSeconds=3_600),
        (gateway.test_an_answer_of_the_authorizer_is_kept_for_a_minute_at_most_F37,),
    ),
    Fault(
        "a revoked key is pushed to for an hour",
        kept_for_an_hour,
        (realtime.test_an_answer_of_the_authorizer_is_not_kept_so_that_nobody_subscribes_after_a_revocation,),
    ),
    Fault(
        "anybody takes the role that asks the authorizer",
        anybody_calls_the_authorizer,
        (iam.test_nobody_is_let_in_without_a_name, iam.test_roles_are_assumed_by_services_of_aws_alone),
    ),
    Fault(
        "the firewall blocks bodies above 8 KB",
        large_bodies_are_blocked,
        (gateway.test_large_bodies_are_counted_and_not_blocked_F35,),
    ),
    Fault(
        "the firewall does not count addresses",
        addresses_are_not_counted,
        (gateway.test_one_address_may_ask_60000_times_a_minute,),
    ),
    Fault(
        "a credential is counted once for each case of its scheme",
        credentials_are_counted_raw,
        (gateway.test_a_credential_is_counted_once_however_it_is_written,),
    ),
    Fault(
        "registering slides is not counted as work",
        slides_begin_no_work,
        (gateway.test_whatever_computes_when_it_is_sent_begins_work,),
    ),
    Fault(
        "images travel as text",
        set_at("api/Gateway/Rest/Resource", BinaryMediaTypes=None),
        (gateway.test_images_travel_as_bytes,),
    ),
    Fault(
        "a queue wakes any number of functions",
        set_at("api/Functions/plan-plan/Resource", ScalingConfig=None),
        (functions.test_each_queue_wakes_its_function_with_a_bound_on_calls_at_once_F7,),
    ),
    Fault(
        "one bad message brings its whole batch back",
        set_at("api/Functions/notify-notify/Resource", FunctionResponseTypes=None),
        (functions.test_each_queue_wakes_its_function_with_a_bound_on_calls_at_once_F7,),
    ),
    Fault(
        "a function takes longer than its queue hides the message",
        set_at("api/Functions/plan/Resource", Timeout=900),
        (partial(functions.test_a_function_runs_on_graviton_within_its_timeout_and_is_traced, name="plan"),),
    ),
    Fault(
        "the relay lacks the time to send",
        set_at("api/Functions/relay/Resource", Timeout=3),
        (functions.test_the_relay_has_its_time_and_its_next_run_comes_after_it,),
    ),
    Fault(
        "the relay outlives the pause between its scheduled runs",
        set_at("api/Functions/relay/Resource", Timeout=90),
        (functions.test_the_relay_has_its_time_and_its_next_run_comes_after_it,),
    ),
    Fault(
        "a wake-up comes again while its run still sends",
        set_at("data/Queues/wake/Resource", VisibilityTimeout=30),
        (functions.test_the_relay_has_its_time_and_its_next_run_comes_after_it,),
    ),
    Fault(
        "the relay runs once in five minutes",
        set_at("api/Functions/relay-every-minute/Resource", ScheduleExpression="rate(5 minutes)"),
        (functions.test_the_relay_has_its_time_and_its_next_run_comes_after_it,),
    ),
    Fault(
        "stitch comes from an image",
        set_at("api/Functions/stitch/Resource", PackageType="Image", Handler=None),
        (
            bundling.test_no_function_comes_from_an_image,
            bundling.test_each_function_is_deployed_with_the_bundle_that_has_its_handler,
        ),
    ),
    Fault(
        "stitch has the bundle of those that read slides",
        stitch_from_the_bundle_of_slides,
        (bundling.test_each_function_is_deployed_with_the_bundle_that_has_its_handler,),
    ),
    Fault(
        "planning may not decrypt slides",
        without_decrypt,
        (partial(functions.test_who_reads_and_writes_encrypted_objects_may_use_the_key_for_both_F41, name="plan"),),
    ),
    Fault(
        "who opens customers' URLs is in the network",
        set_at("api/Functions/webhook_send/Resource", VpcConfig={"SubnetIds": ["subnet"]}),
        (functions.test_who_opens_customers_urls_is_outside_the_network_and_may_only_write_its_log_F60,),
    ),
    Fault(
        "who opens customers' URLs may read slides",
        rights_of_webhook_send,
        (functions.test_who_opens_customers_urls_is_outside_the_network_and_may_only_write_its_log_F60,),
    ),
    Fault(
        "an API key opens push",
        set_at("realtime/Push/Resource", AuthenticationType="API_KEY"),
        (realtime.test_subscribers_pass_our_authorizer_and_publishers_sign_with_IAM_F33,),
    ),
    Fault(
        "anybody signs up",
        set_at("auth/Users/Resource", AdminCreateUserConfig={"AllowAdminCreateUserOnly": False}),
        (auth.test_nobody_signs_up_by_himself,),
    ),
    Fault(
        "people come back from sign-in to any address",
        set_at("auth/Users/Page/Resource", CallbackURLs=["https://*.example.org/"]),
        (_back_to_exact_addresses,),
    ),
    Fault(
        "answers of the API are cached for everybody",
        answers_are_cached,
        (web.test_answers_of_the_api_are_not_cached_and_credentials_reach_it,),
    ),
    Fault(
        "the page's bucket is asked without a signature",
        unsigned_page,
        (web.test_the_page_is_read_with_signed_requests,),
    ),
    Fault(
        "browsers may speak TLS 1.0",
        old_tls,
        (web.test_an_own_name_takes_tls_1_2_and_newer,),
    ),
)
