"""Texts to counts of pre-tokens, in memory and on disk."""
