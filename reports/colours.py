"""The colours of all figures and of the report; reports/page/style.css has them as well."""

# Okabe and Ito's palette, which colour-blind people can tell apart, without its yellow, which is
# too pale for a line on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#56B4E9", "#E69F00")

PHASE_COLOURS = {
    "download": "#56B4E9",
    "compute": "#E69F00",
    "upload": "#0072B2",
    "aggregate": "#009E73",
    "supply": "#CC79A7",
    "wait": "#BBBBBB",
}
