"""The stacks, deployed to MiniStack in their order, and the servers that run next to it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from adapters.aws_clients import AwsClients
from adapters.deploying import Deploying
from cdk.emulated import Row, Template, read_dropped_property, transform_template
from cdk.emulated.table import OURS
from cdk.emulated.values import DATABASE_HOST, DATABASE_PORT, ENDPOINT, PUBLISH_URL, REALTIME_URL
from local.emulated.push import PushServer
from local.emulated.report import Report
from local.emulated.synthesis import SynthesizedStack, synthesize
from local.environment import LocalCredentials
from local.ministack import MiniStack
from local.options import DATABASE, REGION
from local.postgres import EmbeddedPostgres
from local.processes.leftovers import stop_leftovers

RUNNING = "running.json"
STACK_SECONDS = 120.0
FUNCTION = "AWS::Lambda::Function"
GRAPHQL_API = "AWS::AppSync::GraphQLApi"
REST_API, STAGE = "AWS::ApiGateway::RestApi", "AWS::ApiGateway::Stage"


class EmulatedInstallation:
    """`start` and `stop` may be called once each; `stop` is idempotent, and safe after a start that failed."""

    def __init__(self, folder: Path, report: Report) -> None:
        self.folder = folder.absolute()
        self.postgres = EmbeddedPostgres(self.folder / "postgres", durable=False, demands_passwords=False)
        self.ministack = MiniStack(self.folder / "ministack", region=REGION, durable=False, checks_access=True)
        self.functions: dict[str, str] = {}  #: physical name by handler: functions["plan"]
        self.outputs: dict[str, str] = {}  #: of all stacks
        self.api_url = ""
        self.clients: AwsClients
        self.deploying: Deploying
        self.push: PushServer | None = None
        self._report = report
        self._running = self.folder / RUNNING
        self._undo = ExitStack()
        self._credentials = LocalCredentials()

    @property
    def realtime_url(self) -> str:
        assert self.push, "the realtime stack is deployed"
        return self.push.realtime_url

    def start(self) -> None:
        self._stop_leftovers()
        with self._report.step("synthesize the app, with bundles for this machine"):
            stacks = synthesize(self.folder / "cdk.out")
        made = {stack.name: transform_template(stack.template) for stack in stacks}
        self._report.print_table(row for _, rows in made.values() for row in rows)
        with self._report.step("start MiniStack and Postgres"):
            self._start_servers()
        with self._report.step("bootstrap, upload code") as note:
            self.deploying.bootstrap()
            note(f"{self._upload(stacks, [template for template, _ in made.values()])} files")
        for stack in stacks:
            self._deploy(stack, *made[stack.name])

    def stop(self) -> None:
        self._undo.close()
        self._running.unlink(missing_ok=True)

    def _remove_ministack(self) -> None:
        """Remove MiniStack's files but for its logs."""
        self.ministack.stop()
        held, logs = self.folder / "ministack", self.folder / "logs"
        logs.mkdir(exist_ok=True)
        (held / "ministack.log").replace(logs / "ministack.log")
        shutil.rmtree(held)

    def note_running(self, *workers: int) -> None:
        """Write down what runs, for the next run to stop, should this one be killed."""
        self._running.write_text(json.dumps({"ministack_pid": self.ministack.pid, "worker_pids": workers}))

    def _stop_leftovers(self) -> None:
        if self._running.exists():
            stop_leftovers(json.loads(self._running.read_text()))
        self.postgres.remove()

    def _start_servers(self) -> None:
        self._credentials.take()
        self._undo.callback(self._credentials.give_back)
        self._undo.callback(self.postgres.remove)
        self._undo.callback(self._remove_ministack)
        self.postgres.start()
        self.postgres.create_database(DATABASE)
        self.ministack.start()
        self.note_running()
        self.clients = AwsClients(REGION, self.ministack.url)
        self.deploying = Deploying(self.clients)

    def _upload(self, stacks: tuple[SynthesizedStack, ...], templates: list[Template]) -> int:
        """Upload the files that the templates still name; return their number."""
        named = str(templates)
        assets = {asset.key: asset for stack in stacks for asset in stack.assets if asset.key in named}
        for key, asset in assets.items():
            self.deploying.upload(key, asset.make_file())
        return len(assets)

    def _deploy(self, stack: SynthesizedStack, template: Template, rows: tuple[Row, ...]) -> None:
        if not template["Resources"]:
            return
        with self._report.step(f"deploy {stack.noun}") as note:
            outputs = self.deploying.create_stack(stack.name, template, self._parameters(), seconds=STACK_SECONDS)
            gone = sum(row.count for row in rows if row.action == "dropped")
            note(f"{len(template['Resources'])} resources, {gone} dropped")
        self.outputs |= outputs
        names = self.deploying.list_physical_names(stack.name, FUNCTION)
        self.functions |= {handler: names[id] for id, handler in _handlers(template).items()}
        for function in read_dropped_property(outputs, "HandlerArn").values():
            with self._report.step(f"trigger {function.rpartition(':function:')[2]}"):
                self.deploying.invoke(function, {})
        for api in self.deploying.list_physical_names(stack.name, GRAPHQL_API).values():
            self._start_push(api)
        for api in self.deploying.list_physical_names(stack.name, REST_API).values():
            (stage,) = self.deploying.list_physical_names(stack.name, STAGE).values()
            self.api_url = f"{self.ministack.url}/_aws/execute-api/{api}/{stage}"

    def _start_push(self, api: str) -> None:
        self.push = PushServer(self.ministack.url, api)
        self._undo.callback(self.push.stop)
        self.push.start(self.deploying, self.functions["authorizer"])

    def _parameters(self) -> dict[str, str]:
        pushes = {PUBLISH_URL: self.push.publish_url, REALTIME_URL: self.push.realtime_url} if self.push else {}
        return {
            ENDPOINT: self.ministack.url,
            DATABASE_HOST: "127.0.0.1",
            DATABASE_PORT: str(self.postgres.port),
            **pushes,
        }


def _handlers(template: Template) -> Mapping[str, str]:
    """Return the name of each function's handler by logical id: "plan" for lambdas.plan.handler."""
    functions = {id: one["Properties"] for id, one in template["Resources"].items() if one["Type"] == FUNCTION}
    return {id: one["Handler"].removeprefix(OURS).partition(".")[0] for id, one in functions.items()}
