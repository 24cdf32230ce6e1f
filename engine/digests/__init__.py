"""Digests: what a scope of engrams says, in short."""
