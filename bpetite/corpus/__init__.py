"""Corpora to token files: inputs are read, encoded and written, by one process or by ranks whose outputs are merged."""
from .api import count_corpus, encode_corpus, make_plan
from .codec import Codec, codec_of
from .layouts.registry import open_token_file
from .layouts.token_file import TokenFile
from .merge import merge_outputs
from .options import Options
from .plan import Plan
from .read.find import Input, Sources, find_sources
from .read.pieces import Share, shares
from .read.problems import RecordError
from .read.readers import read_documents

__all__ = [
    "Codec",
    "Input",
    "Options",
    "Plan",
    "RecordError",
    "Share",
    "Sources",
    "TokenFile",
    "codec_of",
    "count_corpus",
    "encode_corpus",
    "find_sources",
    "make_plan",
    "merge_outputs",
    "open_token_file",
    "read_documents",
    "shares",
]
