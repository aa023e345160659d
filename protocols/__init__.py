"""The methods, one paper a file, and the wire format. No sockets, files or clocks."""
