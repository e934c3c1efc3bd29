import asyncio
import threading

from conformance.latch import Latch, Meeting


def test_whoever_waits_goes_on_once_it_is_open_thread_and_task():
    latch, went_on = Latch(), []

    async def task():
        await latch.awaited()
        went_on.append("task")

    async def both():
        waiting = asyncio.create_task(task())
        thread = threading.Thread(target=lambda: (latch.wait(), went_on.append("thread")))
        thread.start()
        await asyncio.sleep(0)
        assert went_on == []
        latch.open()
        await waiting
        await asyncio.to_thread(thread.join)

    asyncio.run(both())
    assert sorted(went_on) == ["task", "thread"]


def test_one_that_was_waited_for_long_enough_is_open_to_all():
    for waits in (lambda latch: latch.wait(), lambda latch: asyncio.run(latch.awaited())):
        latch = Latch(within_s=0.01)
        waits(latch)
        assert latch.is_open


def test_a_task_that_is_cancelled_while_it_waits_leaves_nothing_to_be_woken():
    latch = Latch()

    async def cancelled():
        waiting = asyncio.create_task(latch.awaited())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)

    asyncio.run(cancelled())
    latch.open()
    assert latch.is_open


def test_a_meeting_is_met_when_each_of_its_runs_was_there():
    meeting = Meeting(frozenset({"r1", "r2"}), 5)
    meeting.here("r1")
    meeting.here("r1")
    meeting.here("r9")
    assert not meeting.all_here.is_open
    meeting.here("r2")
    assert meeting.all_here.is_open
