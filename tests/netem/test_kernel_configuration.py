"""Options of the guest's kernel that silently dropped out."""

from netem.guest.configuration import lost

_WANTED = """CONFIG_A=y
CONFIG_B=n

# Where known: these
CONFIG_C=y
# because
CONFIG_D=0

CONFIG_E=y
"""


def test_nothing_is_lost_when_all_took_effect() -> None:
    assert lost(_WANTED, "CONFIG_A=y\nCONFIG_C=y\nCONFIG_D=0\nCONFIG_E=y\n") == []


def test_an_option_that_every_kernel_has_must_take_effect() -> None:
    assert lost(_WANTED, "CONFIG_B=y\nCONFIG_A=y\n# CONFIG_E is not set\n") == [
        "CONFIG_B=n",
        "CONFIG_E=y",
    ]


def test_an_option_that_some_kernels_lack_must_take_effect_where_it_is_known() -> None:
    assert lost(_WANTED, "CONFIG_A=y\nCONFIG_E=y\n") == []
    assert lost(_WANTED, "CONFIG_A=y\nCONFIG_E=y\n# CONFIG_C is not set\nCONFIG_D=10000\n") == [
        "CONFIG_C=y",
        "CONFIG_D=0",
    ]
