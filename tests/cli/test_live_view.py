"""The live view: for this machine only, in step with the run, and gone when it is over."""

import contextlib
import http.client
import json
import os
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

from cli.live import LiveView
from contracts.errors import BadInput
from tests.reports.test_live_records import write_round
from tests.support.browser import Page, browser
from tests.support.fake_run import FakeRun
from tests.support.live_pages import fresh, served
from tests.support.waiting import wait_until

ROUND = "waterfall.dataset.round"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("browser")) as found:
        yield found


def servers() -> list[psutil.Process]:
    children = psutil.Process().children()
    return [child for child in children if "cli.live_server" in child.cmdline()]


def test_the_server_is_a_process_of_its_own_behind_all_others_and_ends_with_the_run(
    tmp_path: Path,
) -> None:
    FakeRun(tmp_path / "run", rounds=2)
    with served([tmp_path / "run"]) as address:
        first = fresh(address)
        again = fresh(address, str(first["stamp"]))
        (server,) = servers()
        assert server.nice() >= min(os.nice(0) + 10, 19)
        listening = {c.laddr.ip for c in server.net_connections() if c.status == "LISTEN"}

    assert listening == {"127.0.0.1"}
    assert [run["name"] for run in first["data"]["runs"]] == ["run"]
    assert (again["data"], again["over"]) == (None, False)
    assert not server.is_running()
    with pytest.raises(urllib.error.URLError):
        fresh(address)


def test_a_view_that_nobody_looks_at_does_not_keep_the_command_from_ending(tmp_path: Path) -> None:
    FakeRun(tmp_path / "run", rounds=2)
    with served([tmp_path / "run"]) as address:
        urllib.request.urlopen(address, timeout=60).close()  # it is up, and no page asks
        ended = time.monotonic()

    assert time.monotonic() - ended < 2.5


@pytest.mark.parametrize(
    ("host", "code"),
    [("127.0.0.1:{}", 200), ("localhost:{}", 200), ("evil.example:{}", 421), ("127.0.0.1", 421)],
)
def test_other_hosts_are_refused(one_view: str, host: str, code: int) -> None:
    where = urlsplit(one_view)
    connection = http.client.HTTPConnection("127.0.0.1", where.port, timeout=60)
    for path in (where.path, f"{where.path}fresh"):
        connection.request("GET", path, headers={"Host": host.format(where.port)})
        with connection.getresponse() as answer:
            answer.read()
            assert answer.status == code
    connection.close()


@pytest.fixture(scope="module")
def one_view(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("view")
    FakeRun(folder / "run", rounds=2)
    with served([folder / "run"]) as address:
        yield address


def test_without_the_token_of_its_address_nothing_is_served(one_view: str) -> None:
    where = urlsplit(one_view)
    assert len(where.path) > 12
    for path in ("/", "/fresh", "/x/", where.path[:-2], f"{where.path[:-2]}x/", "//", "/%00/"):
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"http://{where.netloc}{path}", timeout=60)


def test_slow_connections_take_few_threads_and_keep_nobody_out(tmp_path: Path) -> None:
    FakeRun(tmp_path / "run", rounds=2)
    with contextlib.ExitStack() as stack, served([tmp_path / "run"]) as address:
        where = urlsplit(address)
        for _ in range(80):
            slow = socket.create_connection(("127.0.0.1", where.port or 0), timeout=60)
            stack.enter_context(slow).sendall(b"GET / HT")
        page = fresh(address)
        threads = [server.num_threads() for server in servers()]

    assert page["data"]["runs"]
    assert max(threads) < 50


def test_nothing_but_the_page_and_its_news_is_served(one_view: str) -> None:
    for path in ("run/plan.json", "../etc/passwd", "plan.json"):
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(one_view + path, timeout=60)


def test_a_port_that_is_taken_or_none_is_refused_in_one_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(BadInput, match=f"--live {port}: cannot be used .*; name another port"):
            LiveView(port)
    with pytest.raises(BadInput, match="--live 70000: not a port"):
        LiveView(70000)


def test_the_page_shows_a_new_round_and_keeps_what_was_chosen(page: Page, tmp_path: Path) -> None:
    rounds = "Number(document.getElementById('round-picker')?.max) + 1"
    FakeRun(tmp_path / "run", rounds=0)
    with served([tmp_path / "run"]) as address:
        page.open_address(address)
        assert page.run("document.getElementById('live').textContent") == "live"
        assert "no round finished" in page.run("document.getElementById('result').textContent")
        FakeRun(tmp_path / "run", rounds=4)
        wait_until(lambda: page.run(rounds) == 4, 60)
        page.click("#round-after")
        page.click("#zoom-in")
        page.click("#axis input[value=rounds]")
        zoomed = page.run("waterfall.dataset.from + ' ' + waterfall.dataset.to")
        page.run("scrollTo(0, 700)")
        assert page.run(ROUND) == "3"

        write_round(tmp_path / "run", 5)
        wait_until(lambda: page.run(rounds) == 5, 60)

        assert page.run(ROUND) == "3"
        assert page.run("waterfall.dataset.from + ' ' + waterfall.dataset.to") == zoomed
        assert page.run("document.getElementById('accuracy-chart').dataset.axis") == "rounds"
        assert page.run("scrollY") == 700
        (tmp_path / "run" / "summary.json").write_text(json.dumps({"name": "done"}))

    # The last answer came while the command was ending, so it lacks nothing.
    wait_until(lambda: "over" in page.run("document.getElementById('live').textContent"), 60)
    assert page.run("document.querySelector('#result h1').textContent") == "done"
    assert page.run(ROUND) == "3"
    assert page.complaints == []


def test_a_sweeps_runs_come_one_by_one_and_the_chosen_one_stays_chosen(
    page: Page, tmp_path: Path
) -> None:
    names = [tmp_path / name for name in ("first", "second", "third")]
    with served(names) as address:
        page.open_address(address)
        assert page.run("document.getElementById('main').textContent") == "No run has begun yet."
        for name in names[1:]:
            FakeRun(name, rounds=2)
        wait_until(lambda: page.run("document.querySelectorAll('#runs tbody tr').length") == 2, 60)
        page.click("#runs tr:nth-child(2) button")
        shown = "document.querySelector('#result h2').textContent"
        assert page.run(shown) == "third"

        FakeRun(names[0], rounds=3)
        wait_until(lambda: page.run("document.querySelectorAll('#runs tbody tr').length") == 3, 60)

        assert page.run(shown) == "third"
    assert page.complaints == []
