"""Merging: pre-tokens with their counts in, merges in order out."""
