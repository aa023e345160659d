"""Local training: one task in, one result out."""
