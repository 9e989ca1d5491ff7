"""What code relies on in the database: columns, functions and grants, as Postgres itself lists them.

Two shapes are compared, of before and after a migration. So a rule holds whatever SQL, loop or variable a revision
uses, which a reader of its text would have to understand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import psycopg

_COLUMNS = """
SELECT c.relname || '.' || a.attname, format_type(a.atttypid, a.atttypmod),
    a.attnotnull AND NOT a.atthasdef AND a.attidentity = ''
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v') AND a.attnum > 0
    AND NOT a.attisdropped AND c.relname <> 'alembic_version'
"""
_FUNCTIONS = """
SELECT p.oid::regprocedure::text, pg_get_function_result(p.oid)
FROM pg_proc p WHERE p.pronamespace = to_regnamespace('tessera')
"""
#: Of a column, also those of its whole table.
_GRANTS = """
SELECT grantee || ' ' || privilege_type || ' ' || table_name || '.' || column_name
FROM information_schema.role_column_grants WHERE grantee LIKE 'tessera\\_%' AND table_schema = 'public'
UNION
SELECT grantee || ' ' || privilege_type || ' ' || table_name
FROM information_schema.role_table_grants WHERE grantee LIKE 'tessera\\_%' AND table_schema = 'public'
UNION
SELECT grantee || ' ' || privilege_type || ' ' || routine_name
FROM information_schema.role_routine_grants WHERE grantee LIKE 'tessera\\_%' AND routine_schema = 'tessera'
"""


@dataclass(frozen=True, slots=True)
class Column:
    type: str
    must_be_given: bool  #: NOT NULL without a default: an INSERT that does not know the column fails.


@dataclass(frozen=True, slots=True)
class SchemaShape:
    columns: Mapping[str, Column]  #: by `table.column`
    functions: Mapping[str, str]  #: signatures to what they return
    grants: frozenset[str]

    def has_table(self, name: str) -> bool:
        return any(column.startswith(f"{name}.") for column in self.columns)


def read_shape(dsn: str) -> SchemaShape:
    with psycopg.connect(dsn) as connection:
        return SchemaShape(
            columns={
                name: Column(type, must_be_given) for name, type, must_be_given in connection.execute(_COLUMNS.encode())
            },
            functions=dict(connection.execute(_FUNCTIONS.encode()).fetchall()),
            grants=frozenset(grant for (grant,) in connection.execute(_GRANTS.encode())),
        )


def list_contractions(before: SchemaShape, after: SchemaShape) -> dict[str, str]:
    """Return what code of the release before can no longer rely on: a sentence by `table.column`, function or grant."""
    return dict(_iterate_contractions(before, after))


def _iterate_contractions(before: SchemaShape, after: SchemaShape) -> Iterator[tuple[str, str]]:
    for name, column in before.columns.items():
        found = after.columns.get(name)
        if found is None:
            yield name, "is dropped or renamed"
        elif found.type != column.type:
            yield name, f"changes its type from {column.type} to {found.type}"
        elif found.must_be_given and not column.must_be_given:
            yield name, "becomes NOT NULL or loses its default"
    for name, column in after.columns.items():
        if name not in before.columns and column.must_be_given and before.has_table(name.partition(".")[0]):
            yield name, "is new, NOT NULL and has no default"
    for signature, result in before.functions.items():
        if after.functions.get(signature) != result:
            yield signature, "is dropped, or returns something else"
    dropped = tuple(f".{name.partition('.')[2]}" for name in before.columns.keys() - after.columns.keys())
    for grant in before.grants - after.grants:
        if not (dropped and grant.endswith(dropped)):
            yield grant, "is revoked"
