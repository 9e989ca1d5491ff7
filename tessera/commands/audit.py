"""`tessera admin audit`: the audit log of an organisation, listed and verified."""

from __future__ import annotations

import itertools
import json
import re
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer
from rich.console import Console
from rich.table import Table

from tessera.api.connection import drop_unset, open_transport
from tessera.api.rest import Api
from tessera.commands.options import ApiKey
from tessera.local_run.inputs import UsageError
from tessera.local_run.outcomes import FAILED
from tessera.progress import complain
from tessera.terminal import escape_text
from wsi.audit.chain import ChainReport, verify_chain
from wsi.audit.export import read_lines, write_csv
from wsi.records.audit.lines import INSTALLATION, AuditHead

app = typer.Typer(name="audit", help="The audit log: who did and saw what.", no_args_is_help=True)

_HEAD = re.compile(r"([1-9]\d{0,17}):([0-9a-f]{64})")

Url = Annotated[str, typer.Option("--api", metavar="URL", envvar="TESSERA_API", help="The installation.")]
UrlIfAny = Annotated[str | None, typer.Option("--api", metavar="URL", envvar="TESSERA_API", help="The installation.")]
KeyIfAny = Annotated[str | None, typer.Option("--api-key", envvar="TESSERA_API_KEY", help="API key of an admin.")]


@app.command("list")
def list_lines(
    *,
    api: Url,
    api_key: ApiKey,
    actor: Annotated[str | None, typer.Option(help="user:…, key:… or an ARN.")] = None,
    action: Annotated[str | None, typer.Option(help="Such as slide.view.")] = None,
    subject: Annotated[str | None, typer.Option(help="The id of a slide, a job, …")] = None,
    since: Annotated[datetime | None, typer.Option("--from", help="The earliest time, in UTC.")] = None,
    until: Annotated[datetime | None, typer.Option("--to", help="The first time after them, in UTC.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Print this many; else all.")] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="CSV on stdout, which `verify` reads.")] = False,
) -> None:
    """List lines of the audit log, newest first. Only admins may."""
    wanted = drop_unset(actor=actor, action=action, subject=subject, **_format_times(since, until))
    with open_transport(api, api_key) as transport:
        lines = list(itertools.islice(Api(transport).list_audit(**wanted), limit))
    if as_csv:
        sys.stdout.write(write_csv(lines, {}))
        return
    drawn = Table("number", "time (UTC)", "actor", "action", "subject", "detail", highlight=False)
    for line in lines:
        detail = json.dumps(line.detail) if line.detail else ""
        texts = (line.actor, line.action, line.subject, detail)
        drawn.add_row(str(line.number), f"{line.at.astimezone(UTC):%Y-%m-%d %H:%M:%S}", *map(escape_text, texts))
    Console().print(drawn)


@app.command()
def verify(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="CSV or JSON lines of the log; else it is read from --api.", exists=True),
    ] = None,
    *,
    api: UrlIfAny = None,
    api_key: KeyIfAny = None,
    head: Annotated[
        list[str] | None, typer.Option(metavar="NUMBER:HASH", help="A head that an earlier verification printed.")
    ] = None,
    heads: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Heads as the sweep logs them, one JSON object a line.", exists=True),
    ] = None,
) -> None:
    """Verify that no line of the audit log was changed, removed, inserted or moved. With a head that was kept,
    also that none was cut off at the end. Exit code 4 when the log is not whole."""
    if file is not None:
        lines = read_lines(file.read_text(encoding="utf-8"))
    elif api is not None and api_key is not None:
        with open_transport(api, api_key) as transport:
            lines = list(Api(transport).list_audit())[::-1]
    else:
        raise UsageError("give a file, or --api and --api-key")
    if not lines:
        raise UsageError("the log holds no line")
    chain = lines[0].tenant or INSTALLATION
    kept = [*(_parse_head(text, chain) for text in head or ()), *(_read_heads(heads) if heads else ())]
    first = lines[0]
    if first.number > 1:  # nobody can tell what the first one followed
        report = verify_chain(
            lines[1:], chain=chain, heads=kept, after=AuditHead(chain=chain, number=first.number, hash=first.hash)
        )
        complain(f"the log begins at line {first.number:,}; it and the lines before it are not verified")
    else:
        report = verify_chain(lines, chain=chain, heads=kept)
    _report(report)


def _report(report: ChainReport) -> None:
    for fault in report.faults:
        complain(fault.sentence)
    if not report.is_whole:
        raise typer.Exit(FAILED)
    assert report.head is not None, "there are lines"
    out = Console(soft_wrap=True, highlight=False, markup=False)
    out.print(f"{report.lines:,} lines, none of them changed")
    out.print(f"--head {report.head.number}:{report.head.hash}")
    out.print("Keep this head outside of the installation: with it, the next verification notices a cut end.")


def _format_times(since: datetime | None, until: datetime | None) -> dict[str, str]:
    times = {"from": since, "to": until}
    return {name: time.replace(tzinfo=UTC).isoformat() for name, time in times.items() if time is not None}


def _parse_head(text: str, chain: UUID) -> AuditHead:
    found = _HEAD.fullmatch(text)
    if found is None:
        raise UsageError(f"{text} is no head: it is a line's number, a colon and 64 hexadecimal digits")
    return AuditHead(chain=chain, number=int(found[1]), hash=found[2])


def _read_heads(path: Path) -> Iterable[AuditHead]:
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        return [AuditHead(chain=UUID(row["chain"]), number=int(row["number"]), hash=str(row["hash"])) for row in rows]
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{path.name} holds no heads: each line is an object with chain, number and hash") from error
