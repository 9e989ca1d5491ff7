"""Words that names and docstrings of the product begin with. Add a verb here when the product needs one that is not
yet listed: a plain English one, and only if none of these says the same."""

from __future__ import annotations

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


VERBS: Final = _words(
    """
    abandon abort accept add admit advance allocate allow analyse announce answer append apply archive ask assign
    assume attach audit beat begin blank block bootstrap build bundle call cancel change check choose claim classify
    clean close coalesce collect combine commit compare complain complete compute connect continue convert copy
    count create cut decide decode deidentify delete deploy derive describe dilate disable divide download drag
    drain draw drop emit encode end ensure enter erase escape estimate evaluate examine execute expand expire extend
    extract fail fetch fill filter find finish fire flush follow forbid forget format forward free fuse gather
    generate get give
    grant group halve handle hang hash have head hide hold ignore index infer insert inspect interrupt intersect invoke
    issue iterate join keep kill lay lease leave let limit list load locate lock log look make map mark match
    measure merge migrate move name normalise note notify observe offer open order override pack pair pan parse
    paste pin place plan poll prefetch prepare presign print probe process project publish push put queue quote
    raise rasterise read receive reclaim recognise record recover redrive reduce refuse register reject relay release
    remove rename render repair replace replay replicate report request require resample resend resize resolve respond
    restart restate restore resume retry return revoke rewrite rotate run save say scale scan score search see seed
    select send serialize serve set settle shard share show sign simulate skip sleep slice sort split spread stack
    stage start state step stitch stop store stream strip submit subscribe sum summarise sweep synthesize take tell
    terminate thin throttle trace
    transform translate try turn undo unfollow unpack unwrap update upgrade upload verify view wait wake walk warm warn
    watch wire wrap write yield
    bind carry enable hand invite suspend withdraw
    """
)
#: Of functions that return a bool.
PREDICATES: Final = _words(
    """
    allows are belongs can contains ends exists fits has holds is matches may must needs opens reduces refuses says
    should shows starts stays succeeds takes touches waits
    """
)
#: Of functions that give a value another form, as `from_json`, and of context managers and callbacks.
CONVERTERS: Final = frozenset({"as", "from", "of", "on", "to", "with"})
#: A docstring that begins with one of these has no subject.
FRAGMENTS: Final = _words(
    """
    after also as asked at because before behind beside beyond by for from how if in inside of on outside so than
    that to told what when where whether which while who whom whose why with within without
    """
)
