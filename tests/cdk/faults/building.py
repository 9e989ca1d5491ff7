from __future__ import annotations

from tests.cdk.faults.fault import Fault, at, set_at
from tests.cdk.image import test_code_build as built
from tests.cdk.manifests import change_objects
from tests.cdk.templates import Templates

BY_CODEBUILD = "furnished"


def without_privileged_mode(templates: Templates) -> None:
    [project] = at(templates, built.PROJECT)
    project["Properties"]["Environment"]["PrivilegedMode"] = False


def an_image_that_aws_no_longer_updates(templates: Templates) -> None:
    [project] = at(templates, built.PROJECT)
    project["Properties"]["Environment"]["Image"] = "aws/codebuild/standard:4.0"


def a_rule_for_another_project(templates: Templates) -> None:
    [rule] = at(templates, built.RULE)
    rule["Properties"]["EventPattern"]["detail"]["project-name"] = ["tessera-worker"]


def a_rule_for_successes(templates: Templates) -> None:
    [rule] = at(templates, built.RULE)
    rule["Properties"]["EventPattern"]["detail"]["build-status"] = ["SUCCEEDED"]


def a_tag_that_stays(templates: Templates) -> None:
    built.find_image(templates)["Properties"]["Tag"] = "latest"


def a_build_of_another_tag(templates: Templates) -> None:
    [project] = at(templates, built.PROJECT)
    for variable in project["Properties"]["Environment"]["EnvironmentVariables"]:
        if variable["Name"] == "TAG":
            variable["Value"] = "latest"


def an_image_that_waits_for_no_rule(templates: Templates) -> None:
    built.find_image(templates)["DependsOn"] = []


def workers_that_run_the_newest_tag(templates: Templates) -> None:
    def change(job: dict) -> None:
        [container] = job["spec"]["jobTargetRef"]["template"]["spec"]["containers"]
        container["image"] = f"{container['image'].partition('@')[0]}:latest"

    change_objects(templates, "ScaledJob", change)


def a_project_that_pushes_anywhere(templates: Templates) -> None:
    [policy] = at(templates, f"{built.ROLE}/DefaultPolicy/Resource")
    for statement in policy["Properties"]["PolicyDocument"]["Statement"]:
        if "ecr:PutImage" in statement["Action"]:
            statement["Resource"] = "*"


FAULTS = tuple(
    Fault(name, seed, facts, preset=BY_CODEBUILD)
    for name, seed, facts in (
        (
            "docker cannot run in the build",
            without_privileged_mode,
            (built.test_docker_runs_in_a_maintained_image_for_the_workers_platform,),
        ),
        (
            "the build runs in an image that AWS no longer updates",
            an_image_that_aws_no_longer_updates,
            (built.test_docker_runs_in_a_maintained_image_for_the_workers_platform,),
        ),
        (
            "the rule listens to another project",
            a_rule_for_another_project,
            (built.test_the_rule_hears_every_end_of_a_build_of_this_project,),
        ),
        (
            "nobody hears of a build that failed",
            a_rule_for_successes,
            (built.test_the_rule_hears_every_end_of_a_build_of_this_project,),
        ),
        (
            "the end of a build calls another function",
            set_at(built.RULE, Targets=[{"Id": "Target0", "Arn": "arn:aws:lambda:eu-central-1:1:function:other"}]),
            (built.test_the_rule_may_call_the_function_that_starts_builds,),
        ),
        (
            "CloudFormation does not know how long a build takes",
            set_at(f"{built.IMAGE}/Default", ServiceTimeout=None),
            (built.test_cloudformation_waits_longer_than_a_build_may_take_and_not_for_ever,),
        ),
        (
            "a build outlasts the patience of CloudFormation",
            set_at(built.PROJECT, QueuedTimeoutInMinutes=480),
            (built.test_cloudformation_waits_longer_than_a_build_may_take_and_not_for_ever,),
        ),
        (
            "a changed context asks for the same tag",
            a_tag_that_stays,
            (built.test_the_tag_is_the_hash_of_the_context,),
        ),
        (
            "the build pushes another tag",
            a_build_of_another_tag,
            (built.test_the_tag_is_the_hash_of_the_context,),
        ),
        (
            "a build can end before the rule is there",
            an_image_that_waits_for_no_rule,
            (built.test_a_build_starts_when_all_is_there_that_it_needs_and_that_hears_its_end,),
        ),
        (
            "workers do not wait for the build",
            workers_that_run_the_newest_tag,
            (built.test_all_that_runs_the_image_waits_for_it_and_names_its_digest,),
        ),
        (
            "a build may push to any repository",
            a_project_that_pushes_anywhere,
            (built.test_the_project_reads_its_context_pushes_to_its_repository_and_writes_its_log,),
        ),
        (
            "images stop the stack from being deleted",
            set_at(f"{built.PATH}/Repository/Resource", EmptyOnDelete=False),
            (built.test_images_are_encrypted_never_replaced_and_gone_with_the_stack,),
        ),
        (
            "a pushed image can be replaced under its tag",
            set_at(f"{built.PATH}/Repository/Resource", ImageTagMutability="MUTABLE"),
            (built.test_images_are_encrypted_never_replaced_and_gone_with_the_stack,),
        ),
        (
            "images pile up",
            set_at(f"{built.PATH}/Repository/Resource", LifecyclePolicy=None),
            (built.test_old_images_stay_for_a_rollback_and_the_oldest_go,),
        ),
        (
            "CodeBuild makes a log group of its own",
            set_at(built.PROJECT, LogsConfig={}),
            (built.test_the_build_writes_to_a_log_group_of_ours,),
        ),
    )
)
