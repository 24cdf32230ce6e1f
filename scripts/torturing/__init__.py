"""Long random runs against a real mount, compared with a dictionary."""
