"""The HTML report: its data, and the page that shows it."""
