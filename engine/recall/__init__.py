"""Recall: a question and a budget become a context pack."""
