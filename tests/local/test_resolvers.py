"""The resolver files as they are deployed, run by Node; and the filters that they set, as AppSync reads them."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local.appsync.filters import matches_arguments, matches_filter
from local.appsync.resolvers import ResolverRefused, Resolvers
from local.appsync.server import FOLDER
from tests.prerequisites import NODE


def resolve(field, context, folder=FOLDER):
    NODE.require()

    async def run():
        resolvers = Resolvers(folder)
        await resolvers.start()
        try:
            return await resolvers.resolve(field, context)
        finally:
            await resolvers.stop()

    return asyncio.run(run())


def evaluate(resolver_context, **arguments):
    return resolve("onJobUpdate", {"args": arguments, "identity": {"resolverContext": resolver_context}})


def subscribe(resolver_context, **arguments):
    return evaluate({"subject": "user:1", **resolver_context}, **arguments).filter


def test_the_filter_names_the_tenant_always_and_the_job_when_given():
    tenant = {"fieldName": "tenant", "operator": "eq", "value": "t"}
    job = {"fieldName": "jobId", "operator": "eq", "value": "j"}
    assert subscribe({"tenant": "t"}) == {"filterGroup": [{"filters": [tenant]}]}
    assert subscribe({"tenant": "t"}, jobId="j") == {"filterGroup": [{"filters": [tenant, job]}]}


def test_the_tenant_comes_from_the_authorizer_and_from_no_argument():
    assert subscribe({"tenant": "t"}, tenant="other")["filterGroup"][0]["filters"][0]["value"] == "t"


@pytest.mark.parametrize(
    "resolver_context", [{}, {"subject": "user:1"}, {"subject": "user:1", "tenant": ""}, {"tenant": "t"}]
)
def test_without_a_tenant_and_a_subject_nobody_subscribes(resolver_context):
    with pytest.raises(ResolverRefused) as refused:
        evaluate(resolver_context)
    assert refused.value.kind == "Unauthorized"


def test_a_subscription_says_whose_end_ends_it():
    ends = evaluate({"tenant": "t", "subject": "user:1"}, jobId="j").invalidation_filter
    payloads = [
        {"tenant": tenant, "subject": subject} for tenant in ("t", "u") for subject in ("user:1", "user:2", "*")
    ]
    assert [matches_filter(ends, payload) for payload in payloads] == [True, False, True, False, False, False]


def test_the_end_of_subscriptions_names_the_field_and_whom_it_concerns():
    evaluated = resolve("endSubscriptions", {"args": {"tenant": "t", "subject": "key:1"}, "identity": {}})
    assert evaluated.invalidations == (
        {"subscriptionField": "onJobUpdate", "payload": {"tenant": "t", "subject": "key:1"}},
    )
    assert evaluated.result == {"tenant": "t", "subject": "key:1"}


@pytest.mark.parametrize(
    "extension", ["setSubscriptionFilter", "setSubscriptionInvalidationFilter", "invalidateSubscriptions"]
)
def test_extensions_are_refused_in_request_handlers(tmp_path, extension):
    (tmp_path / "early.js").write_text(
        "import { extensions } from '@aws-appsync/utils';"
        f"export const request = () => {{ extensions.{extension}({{}}); return {{}}; }};"
        "export const response = () => null;"
    )
    with pytest.raises(ResolverRefused, match="response handler only"):
        resolve("early", {}, tmp_path)


def test_a_request_invalidates_five_times_at_most(tmp_path):
    for times in (5, 6):
        calls = "extensions.invalidateSubscriptions({});" * times
        (tmp_path / f"times{times}.js").write_text(
            "import { extensions } from '@aws-appsync/utils';"
            f"export const request = () => ({{}}); export const response = () => {{ {calls} return null; }};"
        )
    assert len(resolve("times5", {}, tmp_path).invalidations) == 5
    with pytest.raises(ResolverRefused, match="five times"):
        resolve("times6", {}, tmp_path)


def test_the_mutation_passes_on_what_it_was_given():
    evaluated = resolve("publishJobUpdate", {"args": {"jobId": "j", "version": 3}, "identity": {}})
    assert evaluated.result == {"jobId": "j", "version": 3}
    assert evaluated.filter is None


def test_a_fault_in_a_resolver_is_an_error_and_the_process_lives_on(tmp_path):
    NODE.require()
    (tmp_path / "broken.js").write_text("export const request = () => ({}); export const response = (c) => c.a.b;")
    (tmp_path / "whole.js").write_text(
        "export const request = () => ({ payload: 1 }); export const response = (c) => c.result;"
    )

    async def run():
        resolvers = Resolvers(tmp_path)
        await resolvers.start()
        try:
            with pytest.raises(ResolverRefused):
                await resolvers.resolve("broken", {})
            with pytest.raises(ResolverRefused):
                await resolvers.resolve("absent", {})
            answers = await asyncio.gather(*(resolvers.resolve("whole", {}) for _ in range(20)))
        finally:
            await resolvers.stop()
        return [answer.result for answer in answers]

    assert asyncio.run(run()) == [1] * 20


def condition(operator, value, field="f"):
    return {"filterGroup": [{"filters": [{"fieldName": field, "operator": operator, "value": value}]}]}


@pytest.mark.parametrize(
    ("operator", "value", "passing", "failing"),
    [
        ("eq", "a", "a", "b"),
        ("ne", "a", "b", "a"),
        ("lt", 3, 2, 3),
        ("le", 3, 3, 4),
        ("gt", 3, 4, 3),
        ("ge", 3, 3, 2),
        ("in", ["a", "b"], "b", "c"),
        ("notIn", ["a", "b"], "c", "a"),
        ("between", [1, 3], 3, 4),
        ("beginsWith", "ab", "abc", "ba"),
        ("contains", "b", "abc", "ac"),
        ("notContains", "b", "ac", "abc"),
        ("containsAny", ["x", "b"], ["a", "b"], ["a"]),
    ],
)
def test_operators(operator, value, passing, failing):
    assert matches_filter(condition(operator, value), {"f": passing})
    assert not matches_filter(condition(operator, value), {"f": failing})


def test_a_field_that_the_mutation_did_not_select_lets_nothing_through():
    assert not matches_filter(condition("eq", "t"), {})
    assert not matches_filter(condition("ne", "t"), {"f": None})


def test_an_unknown_operator_is_no_open_door():
    with pytest.raises(KeyError):
        matches_filter(condition("matches", ".*"), {"f": "a"})


def test_conditions_of_a_group_all_hold_and_one_group_is_enough():
    first, second = condition("eq", 1, "a"), condition("eq", 2, "b")
    both = {"filterGroup": [{"filters": [*first["filterGroup"][0]["filters"], *second["filterGroup"][0]["filters"]]}]}
    either = {"filterGroup": [*first["filterGroup"], *second["filterGroup"]]}
    for a, b, all_hold, one_holds in ((1, 2, True, True), (1, 0, False, True), (0, 0, False, False)):
        assert matches_filter(both, {"a": a, "b": b}) == all_hold
        assert matches_filter(either, {"a": a, "b": b}) == one_holds


@given(tenant=st.text(min_size=1), other=st.text(min_size=1), job=st.text(min_size=1))
def test_no_tenant_passes_for_another(tenant, other, job):
    subscribed = {
        "filterGroup": [
            {
                "filters": [
                    {"fieldName": "tenant", "operator": "eq", "value": tenant},
                    {"fieldName": "jobId", "operator": "eq", "value": job},
                ]
            }
        ]
    }
    assert matches_filter(subscribed, {"tenant": other, "jobId": job}) == (other == tenant)


def test_without_a_filter_the_arguments_that_were_given_match():
    assert matches_arguments({"jobId": None}, {"jobId": "j"})
    assert matches_arguments({"jobId": "j"}, {"jobId": "j"})
    assert not matches_arguments({"jobId": "k"}, {"jobId": "j"})
