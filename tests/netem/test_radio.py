"""Links that are down for several reasons at once."""

from netem.radio import Radio


class Link:
    """Remembers what was done to it."""

    def __init__(self) -> None:
        self.done: list[bool] = []

    def set_enabled(self, enabled: bool) -> None:
        self.done.append(enabled)


def test_what_is_not_heard_at_first_is_down() -> None:
    near, far = Link(), Link()

    Radio({"near": near, "far": far}, detached=["far"])

    assert (near.done, far.done) == ([], [False])


def test_an_outage_outlives_a_handover_away_and_back() -> None:
    link = Link()
    radio = Radio({"link": link})

    radio.cut(["link"])
    radio.detach("link")
    radio.attach("link")
    assert link.done == [False]
    radio.restore(["link"])

    assert link.done == [False, True]


def test_attaching_twice_is_attaching_once() -> None:
    link = Link()
    radio = Radio({"link": link}, detached=["link"])

    radio.attach("link")
    radio.attach("link")
    radio.detach("link")

    assert link.done == [False, True, False]
