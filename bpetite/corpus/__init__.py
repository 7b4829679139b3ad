"""Corpora to token files: readers, writers, journal, pipeline."""
from .codec import Codec, codec_of
from .pipeline import Options, ShardTask, encode_corpus, make_task
from .sources import Piece, Sources, find_sources, share
from .tally import RecordError

__all__ = [
    "Codec",
    "Options",
    "Piece",
    "RecordError",
    "ShardTask",
    "Sources",
    "codec_of",
    "encode_corpus",
    "find_sources",
    "make_task",
    "share",
]
