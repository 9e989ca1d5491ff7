"""Tries from a model's place what a model must not reach.

    python -m tests.inference.models.confined.probes FACTS ANSWERS

FACTS names what there is to reach, as JSON, and whether the process locks itself first, as that of a model does.
Prints to the descriptor ANSWERS what each probe got.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

Facts = dict[str, Any]


def read_environment(facts: Facts) -> str:
    return os.environ[facts["name"]]


def read_own_environment_of_the_kernel(facts: Facts) -> bool:
    return facts["secret"].encode() in Path("/proc/self/environ").read_bytes() or _fail()


def read_environment_of_another_process(facts: Facts) -> bytes:
    return Path(f"/proc/{facts['other']}/environ").read_bytes()


def read_memory_of_another_process(facts: Facts) -> bytes:
    maps = Path(f"/proc/{facts['other']}/maps").read_text().split("-")[0]
    with Path(f"/proc/{facts['other']}/mem").open("rb", buffering=0) as memory:
        memory.seek(int(maps, 16))
        return memory.read(4)


def trace_another_process(facts: Facts) -> int:
    return _succeed(_call("ptrace", 0x4206, facts["other"], 0, 0))  # PTRACE_SEIZE


def signal_another_process(facts: Facts) -> None:
    os.kill(facts["other"], signal.SIGURG)


def signal_a_thread_of_another_process(facts: Facts) -> int:
    return _succeed(_call("syscall", 234, facts["other"], facts["other"], int(signal.SIGURG)))  # tgkill


def ask_the_database(facts: Facts) -> bytes:
    with socket.socket(socket.AF_UNIX) as found:
        found.connect(facts["database"])
        return found.recv(2)


def ask_the_metadata_address(facts: Facts) -> bytes:
    with socket.create_connection(("127.0.0.1", facts["metadata"]), timeout=5) as found:
        return found.recv(2)


def send_a_datagram(facts: Facts) -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as found:
        return found.sendto(b"tile", ("127.0.0.1", 9))


def listen_for_others(facts: Facts) -> None:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        found.listen()


def read_another_file(facts: Facts) -> str:
    return Path(facts["file"]).read_text()


def read_the_token_of_the_pod(facts: Facts) -> str:
    return Path("/proc/self/root", facts["file"].lstrip("/")).read_text()


def list_another_folder(facts: Facts) -> list[Path]:
    return list(Path(facts["file"]).parent.iterdir())


def write_a_file(facts: Facts) -> int:
    return Path(facts["file"]).with_name("written").write_text("tile")


def write_into_the_package(facts: Facts) -> int:
    return Path(facts["package"], "config.json").write_text("{}")


def write_into_shared_memory(facts: Facts) -> None:
    path = Path(f"/dev/shm/tessera-probe-{os.getpid()}")
    path.write_text("tile")
    path.unlink()


def remove_the_package(facts: Facts) -> None:
    Path(facts["package"], "extra").unlink()


def link_another_file(facts: Facts) -> None:
    os.link(facts["file"], f"{facts['file']}-linked")


def change_rights_of_a_file(facts: Facts) -> None:
    Path(facts["file"]).chmod(0o777)


def start_a_process(facts: Facts) -> None:
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)


def become_another_program(facts: Facts) -> None:
    if _call("execve", b"/nonexistent", None, None) < 0 and ctypes.get_errno() != 2:
        _fail()


def make_a_namespace(facts: Facts) -> int:
    return _succeed(_call("unshare", 0x10000000))  # CLONE_NEWUSER


def queue_calls_past_the_filter(facts: Facts) -> int:
    return _succeed(_call("syscall", 425, 4, ctypes.create_string_buffer(120)))  # io_uring_setup


def use_numbers_of_another_abi(facts: Facts) -> int:
    if _call("syscall", 0x40000000 | 39) < 0 and ctypes.get_errno() != 38:  # ENOSYS where the kernel has no x32
        _fail()
    return 0


PROBES: dict[str, Callable[[Facts], Any]] = {
    name: value
    for name, value in list(globals().items())
    if callable(value) and getattr(value, "__module__", "") == __name__ and not name.startswith("_")
}


def _call(name: str, *arguments: Any) -> int:
    library = ctypes.CDLL(None, use_errno=True)
    result: int = getattr(library, name)(*arguments)
    return result


def _succeed(result: int) -> int:
    return result if result >= 0 else _fail(ctypes.get_errno())


def _fail(error: int = 1) -> Any:
    raise OSError(error, os.strerror(error))


def _work_on() -> str:
    """What a model may do still: compute, in threads, and read its package."""
    import torch

    torch.set_num_threads(2)
    ones = torch.ones(512, 512)
    sums: list[float] = []
    thread = threading.Thread(target=lambda: sums.append(float((ones @ ones)[0, 0])))
    thread.start()
    thread.join()
    return f"{sums[0]:.0f}"


def main(facts: Facts, answers: int) -> None:
    if facts["locked"]:
        from inference.models.confined.child import lock_process

        lock_process(Path(facts["package"]), "cpu")
    found: dict[str, str] = {}
    for name, probe in PROBES.items():
        try:
            probe(facts)
        except (OSError, KeyError) as error:
            found[name] = f"refused: {type(error).__name__}"
        else:
            found[name] = "reached"
    found["package"] = Path(facts["package"], "config.json").read_text()
    found["computed"] = _work_on()
    os.write(answers, json.dumps(found).encode())


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), int(sys.argv[2]))
