"""The methods, one file per paper, and the wire format; no sockets or clocks here."""
