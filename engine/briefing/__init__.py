"""What an agent should know before it starts: from all engrams of a scope to one short text."""
