"""The functions: three behind the gateway, the others behind queues and schedules, each with what its code calls."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from adapters.settings import processes
from adapters.settings.database_roles import API_ROLE, SYSTEM_ROLE
from adapters.settings.environment import Environment
from adapters.settings.objects import PACKAGES
from adapters.settings.queues import WOKEN, QueueFunction
from adapters.settings.scaling import compute_shards_in_flight
from cdk.api.access import UPLOADING, FunctionRights
from cdk.api.mail import MailSender
from cdk.api.releases import FOR_MESSAGES, FOR_REQUESTS, Releases
from cdk.auth.stack import AuthStack
from cdk.bundling import AssetKind
from cdk.data.stack import DataStack
from cdk.deployment import Deployment
from cdk.network.stack import NetworkStack
from cdk.python_function import PythonFunction
from cdk.realtime.stack import RealtimeStack

#: Run every minute, however few messages come: they repair what dead processes left behind, and send what waits.
SCHEDULED = ("relay", "sweep")
#: Behind the gateway.
ANSWERING = ("api", "submit", "tiles")

#: Of people who are invited, disabled and enabled. None of them reads or sets a password.
MANAGING_ACCOUNTS = tuple(
    f"cognito-idp:Admin{call}" for call in ("CreateUser", "GetUser", "DisableUser", "EnableUser", "UserGlobalSignOut")
)

SLIDES_MIB = 4096  #: inspect and plan: the coarsest level of a slide as pixels, several times over
TILES_MIB = 1_769  #: one processor, which a tile is decoded on; eight indexes of 1,000,000 tiles take 240
SUBMIT_MIB = 1_769  #: one processor; a dry run over a drawn region of 4,096 px takes 340
RELAY_MIB = 1_024  #: 0.58 of a processor; 500 pushes a second take 0.25 of one of ours, without TLS
SCRATCH_MIB = 10_240  #: the most that Lambda gives: a copy of what only OpenSlide can read
MAX_SCRATCH_BYTES = 8 * 1024**3


class Functions(Construct):
    """The functions: `by_name["plan"]`; `called["plan"]`, what its callers invoke: its alias, if it has one."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        deployment: Deployment,
        network: NetworkStack,
        data: DataStack,
        auth: AuthStack,
        realtime: RealtimeStack,
    ) -> None:
        super().__init__(scope, id)
        self._deployment = deployment
        self._network = network
        self._data = data
        self.by_name: dict[str, lambda_.Function] = {}
        self._make_api(realtime, auth)
        self._make_submit()
        self._make_slide_jobs()
        self._make_stitch()
        self._make_tiles()
        self._make_relay(realtime)
        self._make_sweep()
        self._make_notices()
        self.called: dict[str, lambda_.Function | lambda_.Alias] = {**self.by_name}
        if not deployment.emulated:  # MiniStack has no CodeDeploy
            self._release()
        for queue, woken in WOKEN.items():
            self._wake(woken, queue)
        for name in SCHEDULED:
            self._schedule(name)

    # --- the functions, in the order of a slide's path through the system

    def _make_api(self, realtime: RealtimeStack, auth: AuthStack) -> None:
        data = self._data
        settings = processes.ApiSettings(
            **self._common(API_ROLE),
            **self._deployment.traced,
            **self._buckets,
            models_bucket=data.models.bucket_name,
            object_lock=self._deployment.object_lock,
            queue_prefix=self._deployment.queue_prefix,
            dollars_per_gpu_hour=self._deployment.dollars_per_gpu_hour,
            realtime_url=realtime.realtime_url,
            most_workers=self._deployment.max_gpu_workers,
            page_origins=",".join(self._deployment.origins),
            operate_function=data.operate.function_name,
            issuer=auth.issuer,
            user_pool=auth.pool.user_pool_id,
        )
        access = self._add("api", AssetKind.API, settings, memory_mib=1024)
        access.connect(API_ROLE)
        access.send("wake")
        access.read(data.slides, data.results)
        access.read_sources()
        access.write(data.slides, "*/slides/*", actions=UPLOADING)
        access.archive(data.slides)
        access.delete(data.slides)
        access.delete(data.results)
        if self._deployment.object_lock:
            access.see_locks(data.slides, data.results)
            access.hold(data.slides, "*/slides/*")
            access.hold(data.results, "*/jobs/*")
        # Packages that admins upload. It sees their heads, which takes the right to read them.
        access.read(data.models)
        access.write(data.models, f"{PACKAGES}*", actions=UPLOADING)
        access.delete(data.models, f"{PACKAGES}*")
        # Administration: what takes the owner's rights, and people's accounts.
        access.may(["lambda:InvokeFunction"], data.operate.function_arn)
        access.may(MANAGING_ACCOUNTS, auth.pool.user_pool_arn)

    def _make_submit(self) -> None:
        """Make the function for new jobs and dry runs. It reads SQL and inspection's mask, but no slide."""
        data = self._data
        settings = processes.SubmitSettings(
            **self._common(API_ROLE),
            **self._deployment.traced,
            results_bucket=data.results.bucket_name,
            queue_prefix=self._deployment.queue_prefix,
            dollars_per_gpu_hour=self._deployment.dollars_per_gpu_hour,
            page_origins=",".join(self._deployment.origins),
        )
        access = self._add("submit", AssetKind.SLIDES, settings, memory_mib=SUBMIT_MIB)
        access.connect(API_ROLE)
        access.send("wake")
        access.read_below(data.results, "*/slides/*")  # what inspection stored

    def _make_slide_jobs(self) -> None:
        data = self._data
        settings = processes.SlideJobSettings(
            **self._common(SYSTEM_ROLE),
            **self._deployment.traced,
            **self._buckets,
            queue_prefix=self._deployment.queue_prefix,
            max_scratch_bytes=MAX_SCRATCH_BYTES,
        )
        for name, keys in (("inspect", ("*/slides/*",)), ("plan", ("*/jobs/*",))):
            memory: dict[str, Any] = {"memory_mib": SLIDES_MIB, "scratch_mib": SCRATCH_MIB}
            access = self._add(name, AssetKind.SLIDES, settings, **memory)
            access.connect(SYSTEM_ROLE)
            access.read(data.slides)
            access.read_sources()
            access.write(data.results, *keys)
            access.send("wake")
            if name == "inspect":  # de-identification: it writes a clean copy and deletes the upload
                access.write(data.slides, "*/slides/*", actions=UPLOADING)
                access.delete(data.slides, "*/slides/*")
            if name == "plan":
                access.read_below(data.results, "*/slides/*")  # what inspection stored

    def _make_stitch(self) -> None:
        data = self._data
        settings = processes.StitchSettings(
            **self._common(SYSTEM_ROLE),
            **self._deployment.traced,
            results_bucket=data.results.bucket_name,
            queue_prefix=self._deployment.queue_prefix,
        )
        access = self._add("stitch", AssetKind.STITCH, settings, memory_mib=2048, scratch_mib=2048)
        access.connect(SYSTEM_ROLE)
        access.read(data.results)
        access.write(data.results, "*/jobs/*", actions=("s3:PutObject", "s3:AbortMultipartUpload"))
        access.send("wake")

    def _make_tiles(self) -> None:
        """Make the function for tiles: it reads slides and what inspection stored of them, and writes nothing. The
        gateway bounds its concurrency, as that of the API: reserved concurrency would be taken from the others
        (F-7)."""
        data = self._data
        settings = processes.TilesSettings(
            **self._common(API_ROLE),
            **self._buckets,
            page_origins=",".join(self._deployment.origins),
        )
        access = self._add("tiles", AssetKind.SLIDES, settings, memory_mib=TILES_MIB)
        access.connect(API_ROLE)
        access.read(data.slides)
        access.read_sources()
        access.read_below(data.results, "*/slides/*")  # what inspection stored

    def _make_relay(self, realtime: RealtimeStack) -> None:
        settings = processes.RelaySettings(
            **self._common(SYSTEM_ROLE),
            **self._deployment.traced,
            queue_prefix=self._deployment.queue_prefix,
            appsync_url=realtime.graphql_url,
            shards_in_flight=compute_shards_in_flight(self._deployment.max_gpu_workers),
        )
        access = self._add("relay", AssetKind.API, settings, memory_mib=RELAY_MIB)
        access.connect(SYSTEM_ROLE)
        access.send(*(queue for queue in self._data.queues if queue != "wake"))
        realtime.grant_publish(self.by_name["relay"])

    def _make_sweep(self) -> None:
        settings = processes.SweepSettings(
            **self._common(SYSTEM_ROLE),
            slides_bucket=self._data.slides.bucket_name,
            results_bucket=self._data.results.bucket_name,
            object_lock=self._deployment.object_lock,
            queue_prefix=self._deployment.queue_prefix,
            dollars_per_gpu_hour=self._deployment.dollars_per_gpu_hour,
        )
        access = self._add("sweep", AssetKind.API, settings, memory_mib=512)
        access.connect(SYSTEM_ROLE)
        access.send("wake")
        access.collect_dead_letters()
        access.archive(self._data.slides)
        access.erase(self._data.slides, self._data.results)
        if self._deployment.object_lock:
            access.see_locks(self._data.slides, self._data.results)

    def _make_notices(self) -> None:
        """Make the functions for notices. webhook_send opens URLs of customers: so it runs outside the VPC, and its
        role may write its log and nothing else."""
        deployment = self._deployment
        send = PythonFunction(
            self,
            "webhook_send",
            deployment=deployment,
            name="webhook_send",
            asset=AssetKind.API,
            log_key=self._network.log_key,
            network=None,
            settings=processes.WebhookSendSettings(),
            memory_mib=256,
        )
        self.by_name["webhook_send"] = send
        mail = MailSender(self, "Mail", deployment=deployment) if deployment.mail_from else None
        settings = processes.NotifySettings(
            **self._common(SYSTEM_ROLE),
            **self._deployment.traced,
            webhook_function=send.function_name,
            mail_from=mail.sender if mail else None,
            mail_configuration_set=mail.configuration_set_name if mail else None,
            page_url=deployment.origins[0] if deployment.origins else None,
        )
        access = self._add("notify", AssetKind.API, settings, memory_mib=512)
        access.connect(SYSTEM_ROLE)
        access.may(["lambda:InvokeFunction"], send.function_arn)
        if mail:
            mail.grant_send(self.by_name["notify"])

    # --- parts

    @property
    def _buckets(self) -> dict[str, str]:
        return {
            "slides_bucket": self._data.slides.bucket_name,
            "results_bucket": self._data.results.bucket_name,
            "allowed_buckets": ",".join(self._deployment.allowed_buckets),
            "source_role": self._data.source_role,
        }

    def _common(self, role: str) -> dict[str, Any]:
        return {
            "region": self._deployment.region,
            "database_dsn": self._data.database.make_dsn(role),
            "database_iam": True,
        }

    def _add(
        self, name: str, asset: AssetKind, settings: Environment, *, memory_mib: int, scratch_mib: int = 512
    ) -> FunctionRights:
        """Add a function with the code of `asset`, and return its rights."""
        self.by_name[name] = PythonFunction(
            self,
            name,
            deployment=self._deployment,
            name=name,
            asset=asset,
            log_key=self._network.log_key,
            network=self._network,
            settings=settings,
            memory_mib=memory_mib,
            scratch_mib=scratch_mib,
        )
        return FunctionRights(self.by_name[name], data=self._data)

    def _release(self) -> None:
        """Give aliases to the functions that answer requests and messages. Those that the schedule alone or another
        function calls are replaced at once: the next minute's run, or the next attempt, repairs what they missed."""
        releases = Releases(self, "Releases", deployment=self._deployment)
        for name in ANSWERING:
            self.called[name] = releases.add_alias(self.by_name[name], name, FOR_REQUESTS)
        for woken in WOKEN.values():
            self.called[woken.name] = releases.add_alias(self.by_name[woken.name], woken.name, FOR_MESSAGES)

    def _wake(self, woken: QueueFunction, queue: str) -> None:
        """Have a queue's messages invoke the function. Only those that failed are delivered again (F-7). Reserved
        concurrency, in place of a maximum, would throttle the poller and send good messages to the dead letters."""
        function, source = self.by_name[woken.name], self._data.queues[queue]
        FunctionRights(function, data=self._data).may(
            ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"], source.queue_arn
        )
        lambda_.EventSourceMapping(
            self,
            f"{woken.name}-{queue}",
            target=self.called[woken.name],
            event_source_arn=source.queue_arn,
            batch_size=woken.batch_size,
            report_batch_item_failures=True,
            max_concurrency=self._deployment.scale.compute_concurrency(queue),
        )

    def _schedule(self, name: str) -> None:
        """Have the function run every minute. A failed run is not retried: the next minute's run follows anyway."""
        target = targets.LambdaFunction(self.called[name], retry_attempts=0, max_event_age=cdk.Duration.minutes(1))
        events.Rule(
            self, f"{name}-every-minute", schedule=events.Schedule.rate(cdk.Duration.minutes(1)), targets=[target]
        )
