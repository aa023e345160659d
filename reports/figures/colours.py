"""The colours of all figures and of the report; keep reports/page/style.css in step."""

from contracts.events import Phase

# Okabe and Ito's palette, which colour-blind people can tell apart, without its yellow, which is
# too pale for a line on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#56B4E9", "#E69F00")

PHASE_COLOURS: dict[str, str] = {
    Phase.DOWNLOAD: "#56B4E9",
    Phase.COMPUTE: "#E69F00",
    Phase.UPLOAD: "#0072B2",
    Phase.AGGREGATE: "#009E73",
    Phase.SUPPLY: "#CC79A7",
    Phase.WAIT: "#BBBBBB",
}
