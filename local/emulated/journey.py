"""A slide's whole path through the deployment, as a user takes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx

from adapters.cognito import sign_in
from adapters.provisioning import ensure_confirmed_user
from adapters.settings.gateway_routes import PICTURE
from adapters.settings.problems import BASE_PATH
from local.emulated.administering import carry_out
from local.emulated.browser import upload_from_a_page
from local.emulated.command import describe_exit, run_tessera
from local.emulated.host_worker import HostWorker
from local.emulated.installation import EmulatedInstallation
from local.emulated.models_on_the_way import ModelsOnTheWay
from local.emulated.report import Report
from local.emulated.subscriber import Subscriber
from wsi.results.summary import NAME as SUMMARY

MODEL = "stain-density"
TENANT, RIVAL = "first", "second"
PERSON, PASSWORD = "viewer@first.example", "Emulated-viewer-1"
INVITED = "invited@first.example"
UNKNOWN_KEY = f"tsk_00000000_{'0' * 43}"


class Journey:
    def __init__(self, installation: EmulatedInstallation, report: Report) -> None:
        self._installation = installation
        self._report = report
        self._http = httpx.Client(base_url=installation.api_url + BASE_PATH, timeout=60.0)
        self._keys: dict[str, str] = {}

    def run(self, slide: Path, package: Path | None) -> None:
        """Run every step, and report each check. `package` is a model that is added on the way."""
        report, deploying = self._report, self._installation.deploying
        with report.step("administer: two tenants, a key each, the built-in model"):
            self._keys = {tenant: self._new_tenant(tenant) for tenant in (TENANT, RIVAL)}
            self._administer({"register_builtin": {"name": MODEL}})
        self._knock()
        self._sign_in()
        self._operate()
        worker = HostWorker(self._installation)
        worker.start()
        try:
            report.check(
                f"IAM: the worker's role, {worker.role.rpartition('/')[2]}, may not write into the slides",
                not deploying.may_write(worker.credentials, worker.settings.slides_bucket),
            )
            with self._listening() as (own, rival):
                self._submit(slide)
                self._look_at_job(own, rival)
            if package is not None:
                ModelsOnTheWay(self._installation, report, self._new_key(TENANT, "admin")).run(package, slide)
        finally:
            code = worker.stop()
        report.check("the worker drained on SIGTERM", code == 0, f"exit {code}, {worker.log}")
        self._compare(slide)
        self._look_at_tiles()
        upload_from_a_page(self._http, self._as(TENANT), report)
        self._throw_away(worker.settings.slides_bucket)

    # --- before

    def _new_tenant(self, name: str) -> str:
        """Add a tenant, and return its key."""
        self._administer({"add_tenant": {"name": name}})
        return self._new_key(name, "analyst")

    def _new_key(self, tenant: str, role: str) -> str:
        return self._administer({"add_key": {"tenant": tenant, "name": f"emulated {role}", "role": role}})["key"]

    def _administer(self, action: Mapping[str, Any]) -> dict[str, Any]:
        return carry_out(self._installation, action)

    def _knock(self) -> None:
        """Check who gets in through the gateway and its authorizer."""
        with self._report.step("the gateway's first requests (cold starts)"):
            health = self._http.get("/health")
            without = self._http.get("/models")
            unknown = self._http.get("/models", headers={"Authorization": f"Bearer {UNKNOWN_KEY}"})
            known = self._http.get("/models", headers=self._as(TENANT))
        check = self._report.check
        check("GET /health is open", health.status_code == 200, health.text)
        check("without a key: 401, problem+json", _is_problem(without, 401), f"{without.status_code} {without.text}")
        check("with an unknown key: 401, problem+json", _is_problem(unknown, 401), unknown.text)
        check("with a key: the model", known.status_code == 200 and MODEL in known.text, known.text)

    def _sign_in(self) -> None:
        """Check that a person of the deployed pool is let in, and that a token with a forged signature is not."""
        installation, outputs = self._installation, self._installation.outputs
        with self._report.step("a person is added to the pool and signs in"):
            subject = ensure_confirmed_user(installation.clients, outputs["UserPoolId"], PERSON, PASSWORD)
            user = {"tenant": TENANT, "issuer": outputs["Issuer"], "subject": subject, "role": "viewer"}
            self._administer({"add_user": user | {"email": PERSON}})
            token = sign_in(installation.clients, outputs["ClientId"], PERSON, PASSWORD)
            head, claims, signature = token.split(".")
            forged = f"{head}.{claims}.{signature[::-1]}"
            shown = [{"Authorization": f"Bearer {one}"} for one in (token, forged)]
            codes = [self._http.get("/models", headers=headers).status_code for headers in shown]
        self._report.check("their token is let in, one with another signature is not", codes == [200, 401], str(codes))

    def _operate(self) -> None:
        """Check that an operator reaches the owner's actions and people's accounts through the API, and nobody else."""
        with self._report.step("an operator lists the tenants, and invites a person"):
            operator = self._administer({"add_operator_key": {"name": "emulated operator"}})["key"]
            shown = {"Authorization": f"Bearer {operator}"}
            listed = self._http.get("/admin/tenants", headers=shown)
            refused = self._http.get("/admin/tenants", headers=self._as(TENANT))
            person = {"email": INVITED, "role": "analyst", "tenant": TENANT}
            invited = self._http.post("/admin/invitations", headers=shown, json=person)
        check = self._report.check
        check("an operator's action is carried out by operate", RIVAL in listed.text, listed.text)
        check("nobody else's is", _is_problem(refused, 403), refused.text)
        check("the API may make the account of who is invited", invited.status_code == 201, invited.text)

    # --- the way

    @contextmanager
    def _listening(self) -> Iterator[tuple[Subscriber, Subscriber]]:
        with self._report.step("two tenants subscribe, let in by the deployed authorizer"):
            pair = [Subscriber(self._installation.realtime_url, self._keys[tenant]) for tenant in (TENANT, RIVAL)]
            for one in pair:
                one.start()
        try:
            yield pair[0], pair[1]
        finally:
            for one in pair:
                one.stop()

    def _submit(self, slide: Path) -> None:
        with self._report.step(f"tessera submit {slide.name} --watch") as note:
            where = ("--api", self._installation.api_url, "--out", str(self._results))
            done = run_tessera("submit", str(slide), "--model", MODEL, *where, key=self._keys[TENANT])
            note(f"exit {done.returncode}")
        self._report.check("tessera submit: completed", done.returncode == 0, describe_exit(done))

    def _look_at_job(self, own: Subscriber, rival: Subscriber) -> None:
        check = self._report.check
        jobs = self._get("/jobs")["items"]
        check("one job was made", len(jobs) == 1, str(len(jobs)))
        if not jobs:
            return
        job = jobs[0]
        begun = self._get(f"/slides/{job['slide_id']}")["created_at"]
        moves = [one for one in self._get(f"/jobs/{job['job_id']}/events")["items"] if one["kind"] == "moved"]
        since = datetime.fromisoformat(begun)
        at = [(one["detail"]["state"], datetime.fromisoformat(one["at"])) for one in moves]
        self._report.print_timeline([("the upload begins", 0.0), *((s, (t - since).total_seconds()) for s, t in at)])
        planned, inferred = job["tiles_planned"], job["tiles_inferred"]
        check(f"{job['status']}: {planned} tiles planned, {inferred} inferred", planned == inferred > 0)
        heard = own.list_statuses(job["job_id"])
        states = [state for state, _ in at]
        check(f"pushed: {', '.join(heard)}", set(heard) == set(states), f"the job went through {', '.join(states)}")
        check("the other tenant heard nothing", not rival.heard, str(rival.heard))
        foreign = self._http.get(f"/jobs/{job['job_id']}", headers=self._as(RIVAL))
        check("the other tenant finds no such job", foreign.status_code == 404, foreign.text)

    def _compare(self, slide: Path) -> None:
        """Check that tables and images are the same bytes as those of `tessera run` (README, Results)."""
        alone = self._installation.folder / "alone"
        with self._report.step("tessera run, the same slide in one process"):
            done = run_tessera("run", str(slide), "--model", MODEL, "--out", str(alone), key="")
        names = {path.name for path in alone.iterdir()} if done.returncode == 0 else set()
        got = {path.name for path in self._results.iterdir()} if self._results.exists() else set()
        self._report.check(f"results: {', '.join(sorted(got))}", names == got != set(), str(sorted(names)))
        same = {one for one in names & got if _bytes(alone / one) == _bytes(self._results / one)}
        self._report.check("byte for byte those of tessera run", same | {SUMMARY} == names, f"equal are: {same}")

    def _look_at_tiles(self) -> None:
        """Check that `tiles` serves the first slide's coarsest and finest level as JPEG, and to its tenant alone."""
        own, rival = ({**self._as(tenant), "Accept": PICTURE} for tenant in (TENANT, RIVAL))
        with self._report.step("a viewer asks for the pyramid and two tiles") as note:
            slide = self._get("/slides")["items"][-1]["slide_id"]
            pyramid = self._get(f"/slides/{slide}/pyramid")
            address = pyramid["tile_url"].removeprefix(BASE_PATH)
            places = [address.format(level=level, x=0, y=0) for level in (0, len(pyramid["levels"]) - 1)]
            tiles = [self._http.get(place, headers=own) for place in places]
            foreign = self._http.get(places[0], headers=rival)
            note(f"{len(pyramid['levels'])} levels")
        pictures = [tile.status_code == 200 and tile.content.startswith(b"\xff\xd8") for tile in tiles]
        self._report.check("both are JPEGs", all(pictures), str([tile.content[:200] for tile in tiles]))
        self._report.check("the other tenant finds no such tile", _is_problem(foreign, 404), foreign.text)

    def _throw_away(self, bucket: str) -> None:
        deploying = self._installation.deploying
        with self._report.step("all slides are deleted"):
            kept = deploying.list_versions(bucket)
            slides = [one["slide_id"] for one in self._get("/slides")["items"] if one["status"] == "READY"]
            gone = [self._http.delete(f"/slides/{slide_id}", headers=self._as(TENANT)) for slide_id in slides]
            left = deploying.list_versions(bucket)
        said = f"{[answer.text for answer in gone]}, left: {left}"
        self._report.check(f"no version is left of {len(kept)} in S3", len(kept) > 0 and not left, said)

    @property
    def _results(self) -> Path:
        return self._installation.folder / "results"

    def _get(self, path: str) -> Any:
        answer = self._http.get(path, headers=self._as(TENANT))
        answer.raise_for_status()
        return answer.json()

    def _as(self, tenant: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._keys[tenant]}"}


def _is_problem(answer: httpx.Response, status: int) -> bool:
    return answer.status_code == status and answer.headers.get("content-type") == "application/problem+json"


def _bytes(path: Path) -> bytes:
    return path.read_bytes()
