from __future__ import annotations

from tests.cdk.auth import test_auth as auth
from tests.cdk.auth import test_provider as provider
from tests.cdk.faults.fault import Fault, at, set_at, without
from tests.cdk.realtime import test_realtime as realtime
from tests.cdk.templates import Templates


def trigger_of_version_one(templates: Templates) -> None:
    auth.pool(templates)["LambdaConfig"]["PreTokenGenerationConfig"]["LambdaVersion"] = "V1_0"


def provider_begins(templates: Templates) -> None:
    provider.provider(templates)["ProviderDetails"]["IDPInit"] = "true"


def anybody_ends_subscriptions(templates: Templates) -> None:
    written = realtime.schema(templates)
    written["Definition"] = written["Definition"].replace("): EndedSubscriptions @aws_iam", "): EndedSubscriptions")


def the_page_ends_subscriptions(templates: Templates) -> None:
    [policy] = at(templates, "api/Functions/apiRole/DefaultPolicy/Resource")
    ends = {"Fn::Sub": "arn:aws:appsync:*:*:apis/*/types/Mutation/fields/endSubscriptions"}
    statement = {"Effect": "Allow", "Action": "appsync:GraphQL", "Resource": ends}
    policy["Properties"]["PolicyDocument"]["Statement"].append(statement)


FAULTS = (
    Fault(
        "anybody who may subscribe may end the subscriptions of others",
        anybody_ends_subscriptions,
        (realtime.test_both_mutations_are_open_to_IAM_alone,),
    ),
    Fault(
        "the API may end subscriptions",
        the_page_ends_subscriptions,
        (realtime.test_only_the_relay_may_call_the_mutations,),
    ),
    Fault(
        "nothing runs when subscriptions should end",
        without("realtime/Push/endSubscriptions/Resource"),
        (realtime.test_mutation_and_subscription_run_our_resolvers,),
    ),
    Fault(
        "a second factor is a choice",
        set_at("auth/Users/Resource", MfaConfiguration="OPTIONAL"),
        (auth.test_everybody_with_a_password_needs_a_second_factor_and_no_sms,),
    ),
    Fault(
        "a code by SMS is a second factor",
        set_at("auth/Users/Resource", EnabledMfas=["SMS_MFA", "SOFTWARE_TOKEN_MFA"]),
        (auth.test_everybody_with_a_password_needs_a_second_factor_and_no_sms,),
    ),
    Fault(
        "people write groups of their own",
        set_at("auth/Users/Page/Resource", WriteAttributes=["custom:groups", "email"]),
        (auth.test_people_write_no_attribute_of_themselves_but_their_address,),
    ),
    Fault(
        "tokens of the hosted page may write attributes",
        set_at("auth/Users/Page/Resource", AllowedOAuthScopes=["openid", "email", "aws.cognito.signin.user.admin"]),
        (provider.test_no_token_of_the_page_lets_people_write_their_own_groups,),
        preset="furnished",
    ),
    Fault(
        "only the ID token says who signs on",
        trigger_of_version_one,
        (provider.test_the_trigger_writes_both_tokens_and_knows_the_groups,),
        preset="furnished",
    ),
    Fault(
        "nothing writes claims",
        set_at(
            "auth/Users/Resource", LambdaConfig={"PreTokenGenerationConfig": {"LambdaArn": "", "LambdaVersion": ""}}
        ),
        (provider.test_the_trigger_writes_both_tokens_and_knows_the_groups,),
        preset="furnished",
    ),
    Fault(
        "groups stay as they were at the first sign-in",
        set_at("auth/SignOn/Saml/Resource", AttributeMapping={"email": "email"}),
        (provider.test_a_provider_of_saml_states_groups_and_address,),
        preset="furnished",
    ),
    Fault(
        "a sign-in may begin at the provider",
        provider_begins,
        (provider.test_a_provider_of_saml_states_groups_and_address,),
        preset="furnished",
    ),
)
