"""Corpora to token files: sources, reading, encoding, layouts, output, and runs of one part or several."""
from .api import count_corpus, encode_corpus, make_part
from .encoding.codec import Codec, codec_of
from .layouts.registry import open_token_file
from .layouts.token_file import TokenFile
from .reading.documents import read_documents
from .reading.problems import RecordError
from .run.assembly import merge_outputs
from .run.corpus_options import Options
from .run.part import Part
from .sources.find import Piece, Sources, find_sources
from .sources.share import share, shares

__all__ = [
    "Codec",
    "Options",
    "Part",
    "Piece",
    "RecordError",
    "Sources",
    "TokenFile",
    "codec_of",
    "count_corpus",
    "encode_corpus",
    "find_sources",
    "make_part",
    "merge_outputs",
    "open_token_file",
    "read_documents",
    "share",
    "shares",
]
