"""Who belongs to a server: joins and departures in whatever order they come in."""

from nodes.serving.membership import Members


def test_members_stand_in_the_order_of_their_coming() -> None:
    members = Members(["client1", "client2"])

    assert members.enter("client9", since=4)

    assert members.names == ["client1", "client2", "client9"]


def test_who_left_is_out_and_may_come_back() -> None:
    members = Members(["client1"])

    assert members.leave("client1", since=1)
    assert not members
    assert members.enter("client1", since=2)
    assert members.names == ["client1"]


def test_a_join_from_before_it_left_is_stale() -> None:
    members = Members([])

    assert not members.leave("client1", since=5)  # it had not even come
    assert not members.enter("client1", since=4)
    assert members.names == []


def test_a_departure_that_comes_after_the_return_takes_nobody_out() -> None:
    members = Members(["client1"])
    assert members.enter("client1", since=6)

    assert not members.leave("client1", since=5)

    assert members.names == ["client1"]
