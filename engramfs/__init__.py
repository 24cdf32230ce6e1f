"""The filesystem, and everything a person starts."""
