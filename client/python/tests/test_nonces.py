"""Nonces rise: within a process, across restarts, beside another process, and whatever the clock does."""

import itertools
import re
from pathlib import Path

import pytest

from prediction_exchange import BadArgument, FileNonces, MemoryNonces


def rises(nonces: list[int]) -> bool:
    return all(before < after for before, after in itertools.pairwise(nonces))


def test_in_memory_they_rise_within_a_millisecond_and_when_the_clock_goes_back() -> None:
    times = iter([1_800_000_000.0, 1_800_000_000.0, 1_800_000_000.0004, 1_799_999_000.0, 1_800_000_000.1])
    nonces = MemoryNonces(now_s=lambda: next(times))
    given = [nonces.next() for _ in range(5)]
    assert rises(given)
    assert given[-1] < 2**53


def test_two_processes_of_one_wallet_do_not_meet() -> None:
    first, second = (MemoryNonces(now_s=lambda: 1_800_000_000.0, lane=lane) for lane in (17, 18))
    assert not {first.next() for _ in range(5_000)} & {second.next() for _ in range(5_000)}


def test_after_a_restart_they_go_on_above() -> None:
    before = [MemoryNonces(now_s=lambda: 1_800_000_000.0, lane=4_095).next()]
    assert rises([*before, MemoryNonces(now_s=lambda: 1_800_000_000.001, lane=0).next()])


def test_a_file_makes_them_rise_across_restarts_whatever_the_clock_says(tmp_path: Path) -> None:
    times = [1_800_000_000.0, 1_700_000_000.0, 1_800_000_000.0]
    given: list[int] = []
    for now in times:
        nonces = FileNonces(tmp_path / "nonces", now_s=lambda now=now: now, block=3)  # type: ignore[misc]
        given += [nonces.next() for _ in range(4)]
    assert rises(given)


def test_processes_share_a_file(tmp_path: Path) -> None:
    several = [FileNonces(tmp_path / "nonces", now_s=lambda: 1_800_000_000.0, block=2) for _ in range(3)]
    given = [nonces.next() for _ in range(7) for nonces in several]
    assert len(set(given)) == len(given)


@pytest.mark.parametrize("content", [b"", b"12 34", b"-5", b"\xff\xfe", b"1e9"])
def test_a_file_that_was_spoilt_is_not_guessed_at(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "nonces").write_bytes(content)
    with pytest.raises(BadArgument, match=re.escape("has no nonce in it but")):
        FileNonces(tmp_path / "nonces").next()


def test_a_file_that_is_used_up_says_so(tmp_path: Path) -> None:
    (tmp_path / "nonces").write_text(str(2**64 - 2))
    with pytest.raises(BadArgument, match="used up"):
        FileNonces(tmp_path / "nonces").next()
