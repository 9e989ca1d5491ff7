"""The embedded stack: the same handlers and worker as on AWS, on MiniStack and a real Postgres, in one process tree."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from adapters.appsync import SERVICE
from adapters.aws_clients import AwsClients
from adapters.postgres.owner.migrate import migrate
from adapters.postgres.owner.seeding import OPERATORS_NAME, seed
from adapters.provisioning import UserPool, create_buckets, create_queues, create_user_pool
from adapters.settings.database_roles import API_ROLE, SYSTEM_ROLE
from adapters.settings.problems import BASE_PATH
from adapters.sigv4 import find_refusal
from adapters.sqs import SqsQueues
from adapters.tracing.choosing import close_file
from local import functions
from local.access import FIRST, SECOND, Access, load_access
from local.appsync.callers import Doorkeeper
from local.appsync.server import make_appsync_app
from local.environment import LocalCredentials, make_credentials
from local.functions import Addresses
from local.gateway.front_page import render_front_page
from local.gateway.http_api import make_api_app
from local.gateway.http_server import HttpServer
from local.gateway.page import WebPage
from local.lambda_context import LambdaContext
from local.ministack import MiniStack
from local.options import DATABASE, QUEUE_PREFIX, SHARED, StackOptions
from local.pollers import QueuePoller, Schedule
from local.postgres import EmbeddedPostgres
from local.processes.stack_file import StackFile
from local.workers import Workers
from wsi.models.builtin import BUILTIN
from wsi.records.identity import Role
from wsi.records.models import ModelVersion
from wsi.sources.source import Source

OPENAPI = Path(__file__).resolve().parent.parent / "docs/openapi.json"
AT_ONCE = 0.001  #: s; what has waited for longer is sent again at the start
#: The first tenant registers slides of the shared bucket by reference; the second one's slides are all uploaded.
SOURCES: Mapping[str, tuple[Source, ...]] = {FIRST: (Source(SHARED),)}
PUBLIC_PATHS = (f"{BASE_PATH}/health", f"{BASE_PATH}/openapi.json")


class Stack:
    """The stack of one folder, below which all of its data is. `start` and `stop` may be called once each; stop is
    idempotent and safe after a start that failed half-way."""

    def __init__(self, folder: Path, options: StackOptions | None = None) -> None:
        self.folder = folder.absolute()
        self.options = options or StackOptions()
        self.postgres = EmbeddedPostgres(
            self.folder / "postgres", durable=self.options.durable, environment=self.options.postgres_environment
        )
        self.credentials = make_credentials()  #: of the emulator, for this run
        self.ministack = MiniStack(
            self.folder / "ministack",
            region=self.options.region,
            durable=self.options.durable,
            credentials=self.credentials,
        )
        self.pollers: dict[str, QueuePoller] = {}  #: by queue
        self.schedules: tuple[Schedule, ...] = ()
        self.tenants: Mapping[str, UUID] = {}  #: ids by name
        self.access: Access
        self.addresses: Addresses
        self.workers: Workers
        self.clients: AwsClients
        self._api: HttpServer
        self._appsync: HttpServer
        self._file = StackFile(self.folder)
        self._credentials = LocalCredentials(self.credentials)
        self._undo = ExitStack()

    # --- where it answers

    @property
    def traces(self) -> Path:
        """The folder of the traces, a file for each process."""
        return self.folder / "traces"

    @property
    def api_url(self) -> str:
        return f"{self._api.url}{BASE_PATH}"

    @property
    def graphql_url(self) -> str:
        return f"{self._appsync.url}/graphql"

    @property
    def realtime_url(self) -> str:
        return f"ws://127.0.0.1:{self._appsync.port}/graphql/realtime"

    @property
    def api_key(self) -> str:
        return self.access.get_key(FIRST)

    @property
    def admin_api_key(self) -> str:
        return self.access.get_key(FIRST, Role.ADMIN)

    @property
    def other_api_key(self) -> str:
        """The second tenant's API key."""
        return self.access.get_key(SECOND)

    @property
    def operator_api_key(self) -> str:
        """The key of an operator, who administers both tenants and is in neither."""
        return self.access.get_key(OPERATORS_NAME, Role.OPERATOR)

    # --- life

    def start(self) -> None:
        """Start the stack, and return when everything answers. Raises RuntimeError when another process runs a stack in
        this folder."""
        self._close_folder()
        if not self._file.take():
            raise RuntimeError(f"A stack is running in {self.folder} already.")
        self._undo.callback(self._file.give_back)
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def _close_folder(self) -> None:
        """Close the folder to other users. Postgres of a stack of root runs as `nobody`, who must pass through it, so
        what is in it is closed as well."""
        for part in (self.folder, *(self.folder / name for name in ("logs", "models", "workers"))):
            part.mkdir(parents=True, exist_ok=True)
            part.chmod(0o700)
        if os.geteuid() == 0:
            self.folder.chmod(0o711)

    def stop(self) -> None:
        """Stop whatever has been started, in reverse order."""
        self._undo.close()

    def _start(self) -> None:
        self._undo.callback(close_file, self.traces / "stack.jsonl")
        self._credentials.take()
        self._undo.callback(self._credentials.give_back)
        owner_dsn = self._start_servers()
        self.clients = AwsClients(self.options.region, self.ministack.url)
        self.access = load_access(self.folder / "access.json")
        pool = self._provision()
        models = [_make_builtin_version(name) for name in BUILTIN]
        self.tenants = seed(owner_dsn, tenants=self.access.seed_tenants(pool, SOURCES), models=models)
        self.addresses = Addresses(
            region=self.options.region,
            endpoint_url=self.ministack.url,
            api_dsn=self.postgres.make_dsn(API_ROLE, DATABASE),
            system_dsn=self.postgres.make_dsn(SYSTEM_ROLE, DATABASE),
            issuer=pool.issuer,
            jwks_url=pool.jwks_url,
            client_id=pool.client_id,
            traces=str(self.traces / "stack.jsonl"),
            buckets=self.options.buckets,
        )
        self._start_http(owner_dsn)
        self.start_functions()
        self.workers = Workers(self.addresses, self.folder, self.options.worker, on_change=self._write_file)
        self._undo.callback(self.workers.stop_all)
        for _ in range(self.options.workers):
            self.workers.start()
        self._write_file()

    def _start_servers(self) -> str:
        """Start Postgres and MiniStack in parallel; return the DSN of the database's owner."""
        self._undo.callback(self.postgres.stop if self.options.durable else self.postgres.remove)
        self._undo.callback(self.ministack.stop)
        with ThreadPoolExecutor(1) as beside:
            emulator = beside.submit(self.ministack.start)
            self.postgres.start()
            owner_dsn = self.postgres.create_database(DATABASE)
            migrate(owner_dsn)
            emulator.result()
        return owner_dsn

    def _provision(self) -> UserPool:
        create_buckets(self.clients, (*self.options.buckets.names, SHARED))
        create_queues(self.clients, QUEUE_PREFIX)
        return create_user_pool(self.clients, "tessera", self.access.passwords)

    def _start_http(self, owner_dsn: str) -> None:
        authorizer = functions.make_authorizer_handler(self.addresses)
        credentials = self.clients.get_credentials().get_frozen_credentials()
        doorkeeper = Doorkeeper(
            authorizer=authorizer,
            signature_refusal=lambda method, url, headers, body, now: find_refusal(
                method, url, headers, body, credentials, region=self.options.region, service=SERVICE, now=now
            ),
            lambda_context=partial(LambdaContext, "authorizer"),
        )
        self._appsync = HttpServer("appsync", lambda: make_appsync_app(doorkeeper))
        self._appsync.start()
        self._undo.callback(self._appsync.stop)
        api = functions.make_api_handler(self.addresses, owner_dsn=owner_dsn, realtime_url=self.realtime_url)
        tiles, submit = functions.make_tiles_handler(self.addresses), functions.make_submit_handler(self.addresses)
        self._api = HttpServer(
            "api",
            lambda: make_api_app(
                api, authorizer, public_paths=PUBLIC_PATHS, page=self._page().respond, tiles=tiles, submit=submit
            ),
        )
        self._api.start()
        self._undo.callback(self._api.stop)
        self.ministack.allow_pages(
            [*self.options.page_origins, *(f"http://{host}:{self._api.port}" for host in ("127.0.0.1", "localhost"))]
        )

    def _page(self) -> WebPage:
        """Return the page. Its configuration has the fields of cdk/web/stack.py, and says that people sign in by
        password."""
        pushes = self.realtime_url.split("/graphql")[0]
        return WebPage(
            config={
                "apiUrl": BASE_PATH,
                "region": self.options.region,
                "userPoolId": self.addresses.user_pool,
                "clientId": self.addresses.client_id,
                "signInUrl": self.ministack.url,
                "realtimeUrl": self.realtime_url,
                "signIn": "password",
            },
            connect=(self.ministack.url, pushes),
            images=(self.ministack.url,),
            addresses=self._front_page,
        )

    def _front_page(self) -> str:
        openapi = f"{self.api_url}/openapi.json"
        addresses = {"API": self.api_url, "Description": openapi, "Subscriptions": self.realtime_url}
        routes: Mapping[str, Any] = json.loads(OPENAPI.read_text())
        return render_front_page(addresses, routes)

    def start_functions(self) -> None:
        """Start what wakes functions: a poller a queue, and the schedules."""
        queues = SqsQueues(self.clients, QUEUE_PREFIX)
        mapped = functions.make_queue_functions(self.addresses, self.options, graphql_url=self.graphql_url)
        self.pollers = {one.queue: QueuePoller(queues, one) for one in mapped}
        self.schedules = functions.make_schedules(self.addresses, self.options, graphql_url=self.graphql_url)
        self._undo.callback(self.stop_functions)
        for one in self._waking():
            one.start()
        # Messages of an earlier start died with the emulator, or are in queues that hold its old port in their names.
        functions.make_sweep_handler(self.addresses, self.options, stuck_seconds=AT_ONCE)({}, LambdaContext("sweep"))

    def _waking(self) -> tuple[QueuePoller | Schedule, ...]:
        return (*self.pollers.values(), *self.schedules)

    def stop_functions(self) -> None:
        """Stop what `start_functions` started. Functions that run are waited for; requests are still answered."""
        for one in self._waking():
            one.ask_to_stop()
        for one in self._waking():
            one.join()

    def find_lost_server(self) -> str | None:
        """Return the name of a server that ended by itself, and without which nothing here works; None while all
        run."""
        parts = {"MiniStack": self.ministack.is_running, "Postgres": self.postgres.is_running}
        return next((name for name, is_running in parts.items() if not is_running), None)

    def _write_file(self) -> None:
        self._file.write(self.as_json())

    def as_json(self) -> dict[str, Any]:
        """Return stack.json's content. It holds passwords: for this machine's user alone."""
        return {
            "pid": os.getpid(),
            "page_url": f"{self._api.url}/",
            "api_url": self.api_url,
            "openapi_url": f"{self.api_url}/openapi.json",
            "graphql_url": self.graphql_url,
            "realtime_url": self.realtime_url,
            "endpoint_url": self.ministack.url,
            "region": self.options.region,
            "credentials": dict(self.credentials),
            "issuer": self.addresses.issuer,
            "client_id": self.addresses.client_id,
            "api_key": self.api_key,
            "admin_api_key": self.admin_api_key,
            "operator_api_key": self.operator_api_key,
            **self.access.as_json(),
            "buckets": {**asdict(self.options.buckets), "by_reference": SHARED},
            "ministack_pid": self.ministack.pid,
            "worker_pids": list(self.workers.pids.values()),
            "logs": str(self.folder / "logs"),
            "traces": str(self.traces),
        }


def _make_builtin_version(name: str) -> ModelVersion:
    card = BUILTIN[name]
    return ModelVersion(name=card.name, version=card.version, digest=card.digest, card=card.as_json(), package_uri=None)
