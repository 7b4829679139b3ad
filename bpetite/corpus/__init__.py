"""Corpora to token files: readers, writers, journal, tasks."""
from .api import count_corpus, encode_corpus, make_task
from .codec import Codec, codec_of
from .mixture import Mixture, MixtureSource
from .options import Options
from .reading.documents import read_documents
from .reading.problems import RecordError
from .sources.find import Piece, Sources, find_sources
from .sources.share import share, shares
from .task import ShardTask
from .tokenfiles import TokenFile, open_token_file
from .writing.merge import merge_outputs

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
