import asyncio

import pytest

from fake_models.eager import started


def on_the_loop(test):
    async def run():
        # From a callback, as the loop calls a protocol: there is no current task.
        done = asyncio.get_running_loop().create_future()

        def called():
            try:
                done.set_result(test())
            except BaseException as error:  # noqa: BLE001 - the test's own
                done.set_exception(error)

        asyncio.get_running_loop().call_soon(called)
        task = await done
        return task, await asyncio.gather(task, return_exceptions=True) if task else None

    return asyncio.run(run())


def test_what_waits_for_nothing_is_done_when_it_was_started():
    told = []

    async def answer():
        told.append("done")

    assert on_the_loop(lambda: started(answer())) == (None, None)
    assert told == ["done"]


@pytest.mark.parametrize("waits", [1, 3])
def test_what_waits_has_begun_and_goes_on_as_a_task(waits):
    told = []

    async def answer():
        told.append("begun")
        for _ in range(waits):
            await asyncio.sleep(0)
        told.append(asyncio.current_task())

    task, _ = on_the_loop(lambda: started(answer()))
    assert told == ["begun", task]


def test_what_is_cancelled_before_the_tasks_first_step_hears_of_it_where_it_waits():
    told = []

    async def answer():
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            told.append("cancelled")
            raise

    def start():
        task = started(answer())
        task.cancel()
        return task

    task, _ = on_the_loop(start)
    assert told == ["cancelled"]
    assert task.cancelled()


def test_what_it_raises_before_it_waits_comes_out_at_once():
    async def answer():
        raise KeyError("no")

    with pytest.raises(KeyError):
        on_the_loop(lambda: started(answer()))
