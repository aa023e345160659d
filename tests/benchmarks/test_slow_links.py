"""benchmarks.slow_links: packets are counted by round, and figures are for each packet."""

from pathlib import Path

from benchmarks.slow_links import Usage, describe, packets
from contracts.run_directory import RunDirectory

LINKS = """round,link,tier,bytes_up,bytes_down,packets_up,packets_down,drops_up,drops_down
0,client1-wan,client-cloud,9,9,100,100,0,0
1,cloud-wan,attachment,9,9,50,50,0,0
1,client1-wan,client-cloud,9,9,3,4,0,0
2,client1-wan,client-cloud,9,9,5,6,0,0
"""


def test_only_the_packets_of_the_clients_links_in_these_rounds_count(tmp_path: Path) -> None:
    RunDirectory(tmp_path).links.write_text(LINKS)

    assert packets(tmp_path, range(1, 2)) == 7
    assert packets(tmp_path, range(1, 3)) == 18


def test_time_and_switches_are_told_for_each_packet() -> None:
    before, after = Usage(10.0, 1.0, 2.0, 0.5, 0, 100), Usage(13.0, 1.5, 2.5, 0.7, 1, 350)

    told = describe(before, after, carried=100_000)

    assert "processor 1.00 s (kernel 0.50, processes 0.50)" in told
    assert "10.00 us and 0.00 switches" in told
