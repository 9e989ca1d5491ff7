"""Administration: a router a noun. Admins reach the people, keys and quotas of their tenant, operators everything.

A noun whose actions need the owner's rights passes them to the function `operate` (`operating.py`): its route is a
schema of `lambdas/schemas/administration.py` and the name of the action.
"""

from __future__ import annotations

from lambdas.routes.administration import (
    dead_letters,
    invitations,
    keys,
    models,
    people,
    quotas,
    retention,
    sources,
    tenants,
)

NOUNS = (tenants, people, invitations, keys, models, quotas, sources, retention, dead_letters)
