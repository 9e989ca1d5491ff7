"""Nothing of one tenant is in what another one gets, whatever it asks for; and SQL alone holds that too."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, given, settings
from psycopg import sql

from tests.security.described_api import Asked, make_requests
from tests.security.two_tenants import MARKS, Possessions, TwoTenants

#: Ids of the other tenant, at the places of addresses and queries where an id of one's own would stand.
FOREIGN = {"slide_id": "{slide_id}", "job_id": "{job_id}", "q": MARKS[1], "label": f"{MARKS[1]}-label"}


def fill_in(text: str, theirs: Possessions) -> str:
    for name, value in theirs.ids.items():
        text = text.replace(f"%7B{name}%7D", value).replace(f"{{{name}}}", value)
    return text


def test_no_answer_holds_anything_of_another_tenant(tenants: TwoTenants) -> None:
    mine, theirs = tenants.first, tenants.second
    asked_for, answered = 0, 0

    @settings(
        max_examples=1200,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(asked=make_requests(FOREIGN))
    def check(asked: Asked) -> None:
        nonlocal asked_for, answered
        query = {name: fill_in(value, theirs) for name, value in asked.query.items()}
        path = fill_in(asked.path, theirs)
        body = asked.body and fill_in(asked.body, theirs)
        heard = tenants.ask(mine.actor, asked.route[0], path, query=query, body=body)
        sent = f"{path} {query} {body}"
        whole = f"{heard.text} {dict(heard.headers)}"
        assert [one for one in theirs.secrets if one in whole and one not in sent] == []
        if any(value in path for value in theirs.ids.values()):
            asked_for += 1
            assert heard.status in (401, 403, 404, 422), (asked.route, heard.text)
        answered += heard.status < 400

    check()
    assert asked_for > 60
    assert answered > 50, "else the requests were refused for other reasons"


def test_the_other_tenant_still_has_all_that_is_its_own(tenants: TwoTenants) -> None:
    """After the requests above, which changed and deleted what they could."""
    theirs = tenants.second
    for path in (f"/slides/{theirs.ids['slide_id']}", f"/jobs/{theirs.ids['job_id']}"):
        heard = tenants.ask(theirs.actor, "get", f"/api/v1/wsi{path}", query={}, body=None)
        assert heard.status == 200
        assert theirs.mark in heard.text


def test_without_any_filter_sql_gives_a_tenant_its_own_rows_alone(tenants: TwoTenants) -> None:
    """What a query without its WHERE would show: all tables and views, whole, as the API's role in its tenant."""
    mine, theirs = tenants.first, tenants.second
    seen: dict[str, str] = {}
    with tenants.world.api.begin_transaction(mine.actor.tenant) as cursor:
        readable = cursor.execute(
            """
            SELECT table_name FROM information_schema.tables
            WHERE table_schema = 'public' AND has_table_privilege(format('%I.%I', table_schema, table_name), 'SELECT')
            """
        ).fetchall()
        for row in readable:
            name = row["table_name"]
            query = sql.SQL("SELECT coalesce(string_agg(to_jsonb(t)::text, ' '), '') AS rows FROM {} t")
            found = cursor.execute(query.format(sql.Identifier(name))).fetchone()
            seen[name] = found["rows"] if found else ""
    assert {"slides", "jobs", "shards"} <= seen.keys()
    assert [name for name, rows in seen.items() if any(one in rows for one in theirs.secrets)] == []
    assert mine.mark in seen["slides"]
