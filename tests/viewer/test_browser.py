"""The pages in a real browser, over real runs."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from browsing import FOREIGN, Tab, browsing
from machine import Machine, kill
from painter import paint
from playwright.sync_api import Browser, expect
from view_tests import golden
from viewing import Viewer

from mosaic_pipe.fastlane.segment import segment_path
from mosaic_pipe.store.runs import Runs
from mosaic_pipe.store.states import State
from mosaic_pipe.store.sweeps import Submission, Sweeps

pytestmark = pytest.mark.browser

SHORT = ("worker=random", "algo=random", "env=cartpole", "total_timesteps=2000")
LONG = (*SHORT[:-1], "total_timesteps=1000000", "+algo.native.step_seconds=0.01")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as found:
        yield found


@pytest.fixture
def tab(browser: Browser) -> Iterator[Tab]:
    with browser.new_context(viewport={"width": 1200, "height": 900}) as context:
        tab = Tab(context.new_page())
        yield tab
        assert tab.errors == []


@pytest.fixture(scope="module")
def past(make_machine: Callable[[Path], Machine], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A machine where a run has completed, one has failed, and a sweep of two seeds has run."""
    machine = make_machine(tmp_path_factory.mktemp("past"))
    machine.run(*SHORT, "seed=1")
    machine.run(*SHORT, "seed=2", "+algo.native.misbehave=crash", expect=1)
    machine.run("-m", *SHORT, "env=cartpole,acrobot", "seed=1,2", "sweep=pair")
    yield machine
    machine.close()


@pytest.fixture(scope="module")
def viewer(past: Machine) -> Viewer:
    return Viewer(past)


def state_of(machine: Machine, state: str) -> str:
    return next(run_id for run_id in machine.run_ids() if machine.manifest(run_id)["state"] == state)


def test_the_list_by_mouse_and_keys(tab: Tab, viewer: Viewer, past: Machine) -> None:
    page = tab.open(viewer.url)
    expect(page.locator("tbody tr")).to_have_count(3)  # two runs and a sweep
    assert "token" not in page.url
    page.get_by_label("group sweeps").uncheck()
    expect(page.locator("tbody tr")).to_have_count(6)
    page.get_by_role("button", name="failed").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("tbody tr")).to_contain_text("user error")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/run/"))
    assert state_of(past, "FAILED") in page.url
    page.keyboard.press("?")
    expect(page.locator("dialog")).to_contain_text("list of runs")
    page.keyboard.press("?")
    page.keyboard.press("l")
    expect(page.locator("tbody tr")).to_have_count(3)
    page.keyboard.press("/")
    page.keyboard.type("acrobot")
    expect(page.locator("tbody tr")).to_have_count(1)


def test_dark_and_light_and_a_phone(tab: Tab, viewer: Viewer) -> None:
    page = tab.open(viewer.url)
    ground = "() => getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.keyboard.press("t")
    assert page.evaluate(ground) != light
    page.reload()
    tab.wait(f"before => ({ground})() !== before", light)
    page.set_viewport_size({"width": 390, "height": 800})
    expect(page.locator("tbody tr").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_finished_run(tab: Tab, viewer: Viewer, past: Machine) -> None:
    page = tab.open(viewer.at(f"/run/{state_of(past, 'COMPLETED')}"))
    expect(page.locator(".status")).to_contain_text("completed")
    expect(page.locator(".plot.tall .scatterlayer path.js-line").first).to_be_attached()
    expect(page.locator(".frames")).to_have_count(0)
    expect(page.get_by_text("checkpoints/step-2000.json").first).to_be_visible()
    page.get_by_text("Config").click()
    expect(page.locator("details[data-name=config]")).to_contain_text("CartPole-v1")
    page.get_by_text("Manifest").click()
    expect(page.locator("details[data-name=manifest] pre")).to_contain_text('"spec_hash"')


def test_a_failed_run_says_why(tab: Tab, viewer: Viewer, past: Machine) -> None:
    page = tab.open(viewer.at(f"/run/{state_of(past, 'FAILED')}"))
    expect(page.locator(".failure")).to_contain_text("the library broke: [red]markup[/red]")
    expect(page.locator(".failure pre")).to_contain_text("RuntimeError")


def test_a_sweep_its_curves_and_a_comparison(tab: Tab, viewer: Viewer, past: Machine) -> None:
    page = tab.open(viewer.at("/sweep/pair"))
    expect(page.locator("table").first.locator("tbody tr")).to_have_count(2)
    expect(page.locator(".plot.tall .fills path").first).to_be_attached()  # the seeds' range
    expect(page.locator(".legend .legendtext")).to_have_count(2)
    page.get_by_label("metric").select_option("episode_length")
    expect(page.locator(".plot.tall .scatterlayer path.js-line").first).to_be_attached()
    page.goto(viewer.at(f"/compare?runs={','.join(past.run_ids())}"))
    expect(page.locator(".legend .legendtext").first).to_be_attached()
    expect(page.locator("tbody tr").first).to_be_visible()


def test_live_frames_curves_and_the_end(tab: Tab, machine: Machine) -> None:
    """Frames change, sizes too; curves grow; the supervisor is killed, then the viewer, with the page open."""
    process = machine.start(*LONG, "seed=1")
    run_id = machine.wait_for_training([])
    segment = segment_path(run_id, 1)
    viewer = Viewer(machine, run_id)
    with paint(segment, "--lanes", "2", "--size", "84x84x3", "96x120x3"):
        page = tab.open(viewer.url)
        assert run_id in page.url
        expect(page.locator(".stage.shown")).to_be_visible()
        token, points = (
            "document.querySelector('canvas').dataset.token",
            "document.querySelector('section[data-points]').dataset.points",
        )
        seen = int(page.evaluate(token))
        tab.wait(f"seen => Number({token}) > seen + 5", seen)
        width = page.evaluate("document.querySelector('canvas').width")
        tab.wait("width => document.querySelector('canvas').width !== width", width)
        expect(page.locator(".lanes td").first).to_be_visible()
        tab.wait("() => document.querySelector('section[data-points]')?.dataset.points > 0")
        before = int(page.evaluate(points))
        tab.wait(f"before => Number({points}) > before", before)
        with page.expect_download() as download:
            page.get_by_text("Snapshot").click()
        assert Path(download.value.path()).read_bytes().startswith(b"\xff\xd8")
    process.send_signal(signal.SIGKILL)
    expect(page.locator(".status")).to_contain_text("worker lost")
    assert machine.manifest(run_id)["state"] == "RUNNING"  # who only looks writes nothing
    kill(viewer.process.pid)
    expect(page.locator("#trouble")).to_contain_text("does not answer")
    machine.wait_for(lambda: not segment.exists())


def test_a_curriculum_as_cleanrl_trains_on_it(tab: Tab, machine: Machine) -> None:
    """Rooms of 5x5, then of 16x16: another size of frames, while the page is open."""
    stages = ("until=steps>=3000", "env_id=MiniGrid-DoorKey-16x16-v0")
    overrides = [f"curriculum.stages.{number}.{stage}" for number, stage in enumerate(stages)]
    overrides += ["curriculum.stages.1.until=steps>=1000000", "total_timesteps=1000000"]
    machine.run("workers", "install", "cleanrl")
    machine.start("worker=cleanrl", "curriculum=doorkey_short", "+env.kwargs.max_steps=100", *overrides)
    run_id = machine.wait_for_training([])
    page = tab.open(Viewer(machine, run_id).url)
    expect(page.locator(".stage.shown")).to_be_visible()
    expect(page.locator(".lanes tbody tr")).to_have_count(4)
    page.get_by_title("look at this one alone").first.click()
    expect(page.locator(".lanes tbody tr")).to_have_count(1)
    expect(page.locator(".stages .current")).to_contain_text("DoorKey-16x16")
    expect(page.locator(".lanes")).to_contain_text("DoorKey-16x16")
    token = "Number(document.querySelector('canvas').dataset.token)"
    tab.wait(f"seen => {token} > seen + 3", page.evaluate(token))
    page.set_viewport_size({"width": 390, "height": 800})
    tab.wait("() => document.documentElement.scrollWidth <= 390")
    expect(page.locator(".plot.tall .shapelayer path").first).to_be_attached()


def test_closing_the_page_ends_the_wish_for_frames(browser: Browser, machine: Machine) -> None:
    machine.start(*LONG, "seed=1")
    run_id = machine.wait_for_training([])
    viewer = Viewer(machine, run_id)
    path = machine.folder / "writes"
    with paint(segment_path(run_id, 1), "--log", str(path)), browser.new_context() as context:
        tab = Tab(context.new_page())
        tab.open(viewer.url)
        expect(tab.page.locator(".stage.shown")).to_be_visible()
        tab.page.close()
        time.sleep(2.0)
        written = path.stat().st_size
        time.sleep(0.5)
        assert path.stat().st_size == written
    before = viewer.cpu_seconds()
    time.sleep(3.0)
    assert viewer.cpu_seconds() - before < 0.05
    assert viewer.stop() == 0


def test_a_wall_and_frames_without_javascript(browser: Browser, tab: Tab, machine: Machine) -> None:
    machine.start("-m", *LONG, "seed=1,2", "sweep=pair")
    ids = machine.wait_for(
        lambda: len(found := machine.run_ids()) == 2 and all(machine.events(one, "episode") for one in found) and found
    )
    viewer = Viewer(machine, "pair")
    with paint(segment_path(ids[0], 1)), paint(segment_path(ids[1], 1)):
        page = tab.open(viewer.url)
        page.get_by_text("Live wall").click()
        expect(page.locator(".tile canvas[data-token]")).to_have_count(2)
        with browser.new_context(java_script_enabled=False) as context:
            bare = context.new_page()
            bare.goto(viewer.at(f"/run/{ids[0]}"), wait_until="commit")
            picture = bare.locator("noscript img, img[alt='live frames']").first
            machine.wait_for(lambda: picture.evaluate("image => image.naturalWidth"), 120)


def fill(machine: Machine, number: int, **changes: object) -> None:
    """Manifests of runs that were never run."""
    runs, text = Runs(machine.outputs), msgspec.json.encode(golden(**changes))
    old = msgspec.json.decode(text)["run_id"].encode()
    for index in range(number):
        run = runs.new(f"{index:026d}")
        run.path.mkdir(parents=True)
        run.manifest_file.write_bytes(text.replace(old, run.path.name.encode()))


def test_ten_thousand_runs(tab: Tab, machine: Machine) -> None:
    fill(machine, 10_000, state=State.FAILED)
    viewer = Viewer(machine)
    started = time.monotonic()
    page = tab.open(viewer.url)
    expect(page.locator("tbody tr")).to_have_count(100)
    assert time.monotonic() - started < 30  # 2.5 s on two free cores
    expect(page.locator(".pager")).to_contain_text("of 10,000")
    page.get_by_label("next page").click()
    expect(page.locator(".pager")).to_contain_text("101")


def make_sweep(machine: Machine, cells: int, seeds: int) -> None:
    """A sweep whose runs were never run."""
    manifest, sweep = golden(), Sweeps(machine.outputs).open("big")
    points = [
        sweep.point(
            (f"gamma={cell / 100}", f"seed={seed}"), msgspec.structs.replace(manifest.spec, seed=seed, algo=algo)
        )
        for cell in range(cells)
        for algo in [msgspec.structs.replace(manifest.spec.algo, gamma=cell / 100)]
        for seed in range(seeds)
    ]
    sweep.submit(Submission(submitted=0.0, argv=[], launcher="local", settings={}, points=points, replaced=[], todo=[]))
    for point in points:
        run = Runs(machine.outputs).new(point.run_id)
        run.events_file(1).parent.mkdir(parents=True)
        run.write_manifest(msgspec.structs.replace(manifest, run_id=point.run_id, spec=point.spec, sweep="big"))
        run.events_file(1).write_bytes(b"".join(episodes(point.run_id, 20)))


def episodes(run_id: str, number: int) -> Iterator[bytes]:
    """Lines of events."""
    for step in range(number):
        payload = {"env_steps": step, "episode_return": step / 2, "episode_length": 1, "wall_time": 0.0}
        event = {"event": "episode", "run_id": run_id, "attempt": 1, "seq": step + 1, "time": 0.0, "payload": payload}
        yield msgspec.json.encode(event) + b"\n"


def test_a_sweep_of_500_runs(tab: Tab, machine: Machine) -> None:
    make_sweep(machine, cells=25, seeds=20)
    viewer = Viewer(machine)
    tab.open(viewer.url)
    started = time.monotonic()
    page = tab.open(viewer.at("/sweep/big"))
    expect(page.locator("tbody tr")).to_have_count(525)
    assert time.monotonic() - started < 15  # 0.3 to 1 s on two free cores
    expect(page.locator(".plot.tall .scatterlayer path.js-line")).to_have_count(75)  # a line and a band for each cell


def test_nothing_that_a_run_says_becomes_markup(tab: Tab, machine: Machine) -> None:
    evil = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    manifest = golden()
    manifest.spec = msgspec.structs.replace(manifest.spec, env=msgspec.structs.replace(manifest.spec.env, id=evil))
    manifest.attempts[0].host = evil
    run = Runs(machine.outputs).new(manifest.run_id)
    run.events_file(1).parent.mkdir(parents=True)
    run.write_manifest(manifest)
    payload = {"env_steps": 1, "wall_time": 1.0, "sps": 1.0, evil: 1.0, "%{x}<b>": 2.0}
    event = {"event": "metrics", "run_id": run.path.name, "attempt": 1, "seq": 1, "time": 0.0, "payload": payload}
    run.events_file(1).write_bytes(msgspec.json.encode(event) + b"\n")
    run.log_file(1).write_text(evil)
    viewer = Viewer(machine)
    for path in ("/", f"/run/{run.path.name}", f"/compare?runs={run.path.name}&metric={evil}"):
        page = tab.open(viewer.at(path))
        expect(page.locator("main")).to_contain_text("onerror")
        page.wait_for_timeout(500)
        assert page.locator("img[src=x]").count() == 0
        assert page.locator("script:not([src])").count() == 0


def test_a_wrong_token_and_a_foreign_name_see_nothing(browser: Browser, viewer: Viewer, past: Machine) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        for path in ("/", f"/run/{past.run_ids()[0]}", "/api/runs", "/static/app.js"):
            for address in (viewer.base + path, f"{viewer.base}{path}?token=wrong"):
                answer = page.goto(address)
                assert answer is not None
                assert answer.status == 403
                assert past.run_ids()[0] not in page.content()
            answer = page.goto(viewer.at(path).replace("127.0.0.1", FOREIGN))
            assert answer is not None
            assert answer.status == 421
            assert past.run_ids()[0] not in page.content()


def test_twenty_pages_at_once(browser: Browser, machine: Machine) -> None:
    machine.start(*LONG, "seed=1")
    run_id = machine.wait_for_training([])
    viewer = Viewer(machine, run_id)
    with paint(segment_path(run_id, 1)), browser.new_context() as context:
        tabs = [Tab(context.new_page()) for _ in range(20)]
        for tab in tabs:
            tab.open(viewer.url)
        for tab in tabs:
            expect(tab.page.locator(".stage.shown")).to_be_visible()
            token = "Number(document.querySelector('canvas').dataset.token)"
            tab.wait(f"seen => {token} > seen + 2", tab.page.evaluate(token))
        assert [tab.errors for tab in tabs] == [[]] * 20


def test_viewers_that_read_nothing_cost_the_others_nothing(tab: Tab, machine: Machine) -> None:
    """Twenty at once, half of which have stopped reading."""
    import socket

    machine.start(*LONG, "seed=1")
    run_id = machine.wait_for_training([])
    viewer = Viewer(machine, run_id)
    host, port = "127.0.0.1", int(viewer.base.rpartition(":")[2])
    with paint(segment_path(run_id, 1), "--size", "480x640x3"):
        page = tab.open(viewer.url)
        expect(page.locator(".stage.shown")).to_be_visible()
        cookie = "{name}={value}".format(**page.context.cookies()[0])
        request = f"GET /run/{run_id}/frames.mjpeg HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n"
        others = [socket.create_connection((host, port)) for _ in range(20)]
        try:
            for other in others:
                other.sendall(request.encode())
            for other in others[:10]:
                other.settimeout(120)
                assert other.recv(100).startswith(b"HTTP/1.1 200")
            token = "Number(document.querySelector('canvas').dataset.token)"
            for _ in range(3):
                tab.wait(f"seen => {token} > seen + 10", page.evaluate(token))
                for other in others[:10]:
                    other.recv(1 << 20)
        finally:
            for other in others:
                other.close()
    assert viewer.process.poll() is None
