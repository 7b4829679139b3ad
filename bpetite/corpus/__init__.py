"""Corpora to token files: readers, writers, journal, tasks."""
from .api import count_corpus, encode_corpus, make_task
from .encoding.codec import Codec, codec_of
from .layouts.reading import TokenFile, open_token_file
from .mixture import Mixture, MixtureSource
from .reading.documents import read_documents
from .reading.problems import RecordError
from .run.assembly import merge_outputs
from .run.options import Options
from .run.part import ShardTask
from .sources.find import Piece, Sources, find_sources
from .sources.share import share, shares

__all__ = [
    "Codec",
    "Mixture",
    "MixtureSource",
    "Options",
    "Piece",
    "RecordError",
    "ShardTask",
    "Sources",
    "TokenFile",
    "codec_of",
    "count_corpus",
    "encode_corpus",
    "find_sources",
    "make_task",
    "merge_outputs",
    "open_token_file",
    "read_documents",
    "share",
    "shares",
]
