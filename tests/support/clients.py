"""Libraries that take a tokenizer, each with its own tokenizer and with one of bpetite on the same text.

    python tests/support/clients.py          seconds before and after, for docs/clients.md

The lines of that page are those of the functions here: tests/clients/test_clients.py compares them.
"""
import os
import tempfile
import time
from collections.abc import Callable
from functools import cache, partial
from importlib import metadata
from pathlib import Path
from typing import Any

import made_texts
import published

import bpetite

#: The calls before and after; what they give must be equal.
Pair = tuple[Callable[[], Any], Callable[[], Any]]

SIZE = 1_000_000


@cache
def folder() -> Path:
    """A folder with the ranks where tiktoken and bpetite look for them; kept while the process runs."""
    made = tempfile.mkdtemp()
    published.fill_cache(Path(made))
    os.environ["TIKTOKEN_CACHE_DIR"] = made
    return Path(made)


def text(size: int = SIZE) -> str:
    return made_texts.text("english", size).replace(made_texts.END, "\n\n")


def tiktoken_encoding() -> Any:
    import tiktoken

    folder()
    return tiktoken.get_encoding("cl100k_base")


def tokenizers_tokenizer() -> Any:
    import tokenizers

    return tokenizers.Tokenizer.from_file(str(published.write("gpt2/tokenizer.json", folder())))


def ours() -> bpetite.Tokenizer:
    folder()
    return bpetite.get_encoding("cl100k_base")


def langchain(text: str) -> Pair:
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    tok = ours()
    tiktoken_encoding()
    before = RecursiveCharacterTextSplitter.from_tiktoken_encoder("cl100k_base", chunk_size=256, chunk_overlap=0)
    after = RecursiveCharacterTextSplitter(length_function=tok.count, chunk_size=256, chunk_overlap=0)
    return partial(before.split_text, text), partial(after.split_text, text)


def llama_index(text: str) -> Pair:
    from llama_index.core.node_parser import TokenTextSplitter

    tok = ours()
    theirs = partial(tiktoken_encoding().encode, allowed_special="all")
    before = TokenTextSplitter(tokenizer=theirs, chunk_size=256, chunk_overlap=0)
    after = TokenTextSplitter(tokenizer=tok.encode, chunk_size=256, chunk_overlap=0)
    return partial(before.split_text, text), partial(after.split_text, text)


def semchunk(text: str) -> Pair:
    import semchunk

    tok = ours()
    before = semchunk.chunkerify(tiktoken_encoding(), 256, memoize=False)
    after = semchunk.chunkerify(tok.as_tiktoken(), 256, memoize=False)
    return partial(before, text), partial(after, text)


def chonkie(text: str) -> Pair:
    from chonkie import TokenChunker

    theirs = tokenizers_tokenizer()
    before = TokenChunker(theirs, chunk_size=256)
    after = TokenChunker(bpetite.accelerate(theirs), chunk_size=256)
    return lambda: [(one.text, one.token_count) for one in before(text)], lambda: [
        (one.text, one.token_count) for one in after(text)
    ]


def litellm(text: str) -> Pair:
    import litellm

    theirs = tokenizers_tokenizer()
    before = {"type": "huggingface_tokenizer", "tokenizer": theirs}
    after = {"type": "huggingface_tokenizer", "tokenizer": bpetite.accelerate(theirs)}
    return partial(litellm.encode, "", text, before), partial(litellm.encode, "", text, after)


def semantic_text_splitter(text: str) -> Pair:
    from semantic_text_splitter import TextSplitter

    theirs = tokenizers_tokenizer()
    tok = bpetite.Tokenizer.from_huggingface(theirs)
    before = TextSplitter.from_huggingface_tokenizer(theirs, 256)
    after = TextSplitter.from_callback(tok.count, 256)
    return partial(before.chunks, text), partial(after.chunks, text)


def mistral_common(text: str) -> Pair:
    import mistral_common
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    path = Path(mistral_common.__file__).parent / "data" / "tekken_240911.json"
    before, tekken = Tekkenizer.from_file(path), Tekkenizer.from_file(path)
    tekken._model = bpetite.Tokenizer.from_tiktoken(tekken._model).as_tiktoken()
    return partial(before.encode, text, False, False), partial(tekken.encode, text, False, False)


def llguidance(text: str) -> Pair:
    from llguidance.tiktoken import lltokenizer_from_encoding

    tok = ours()
    before = lltokenizer_from_encoding(tiktoken_encoding())
    after = lltokenizer_from_encoding(tok.as_tiktoken())
    return partial(before.tokenize_str, text), partial(after.tokenize_str, text)


def outlines_core(text: str) -> Pair:
    from outlines_core import Guide, Index, Vocabulary

    tok = ours()
    eot = tok.eot_token
    theirs = {token: [rank] for token, rank in tiktoken_encoding()._mergeable_ranks.items()}
    vocabularies = Vocabulary(eot, theirs), Vocabulary(eot, {token: [n] for n, token in tok.vocab.items() if n < eot})
    before, after = (partial(lambda words: sorted(Guide(Index("[a-z]{3}", words)).get_tokens()), one)
                     for one in vocabularies)  # fmt: skip
    return before, after


def docling(text: str) -> Pair:
    from docling_core.transforms.chunker.tokenizer.openai import OpenAITokenizer

    tok = ours()
    before = OpenAITokenizer(tokenizer=tiktoken_encoding(), max_tokens=256)
    after = OpenAITokenizer(tokenizer=tok.as_tiktoken(), max_tokens=256)
    parts = text.split("\n\n")
    return lambda: [*map(before.count_tokens, parts)], lambda: [*map(after.count_tokens, parts)]


def datatrove(text: str) -> Pair:
    from datatrove.data import Document
    from datatrove.pipeline.tokens import DocumentTokenizer
    from loguru import logger

    logger.disable("datatrove")
    path = str(published.write("gpt2/tokenizer.json", folder()))
    documents = [Document(text=part, id=str(number)) for number, part in enumerate(text.split("\n\n"))]

    def made(name: str) -> Any:
        out = folder() / name
        return DocumentTokenizer(str(out), tokenizer_name_or_path=path, shuffle_documents=False)

    def run(step: Any) -> dict[str, bytes]:
        step.run(documents)
        out = Path(step.output_folder.path)
        return {file.name: file.read_bytes() for file in sorted(out.iterdir()) if file.suffix != ".metadata"}

    before, step = made("before"), made("after")
    step.tokenizer = bpetite.accelerate(step.tokenizer)
    return partial(run, before), partial(run, step)


def datasets(text: str) -> Pair:
    from datasets import Dataset, disable_progress_bars

    disable_progress_bars()
    theirs, tok = tiktoken_encoding(), ours()
    data = Dataset.from_dict({"text": text.split("\n\n")})

    def before() -> Any:
        return data.map(lambda rows: {"ids": theirs.encode_batch(rows["text"])}, batched=True)["ids"][:]

    def after() -> Any:
        return data.map(lambda rows: {"ids": tok.encode_batch(rows["text"])}, batched=True)["ids"][:]

    return before, after


def by_name(text: str) -> Pair:
    import tiktoken
    from langchain_text_splitters import TokenTextSplitter

    tiktoken_encoding()
    before, encodings = TokenTextSplitter("cl100k_base", chunk_size=256, chunk_overlap=0), tiktoken.get_encoding
    try:
        tiktoken.get_encoding = lambda name: bpetite.get_encoding(name).as_tiktoken()
        after = TokenTextSplitter("cl100k_base", chunk_size=256, chunk_overlap=0)
    finally:
        tiktoken.get_encoding = encodings
    return partial(before.split_text, text), partial(after.split_text, text)


#: Client -> the package of it.
CLIENTS = {
    by_name: "langchain-text-splitters", langchain: "langchain-text-splitters", llama_index: "llama-index-core",
    semchunk: "semchunk", chonkie: "chonkie", litellm: "litellm", semantic_text_splitter: "semantic-text-splitter",
    mistral_common: "mistral-common", llguidance: "llguidance", outlines_core: "outlines-core", docling: "docling-core",
    datatrove: "datatrove", datasets: "datasets",
}  # fmt: skip


def seconds(call: Callable[[], Any]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def main() -> None:
    for make, package in CLIENTS.items():
        try:
            before, after = make(text())
        except ImportError as error:
            print(f"{package}: {error}")
            continue
        after()  # fills the word cache, as the texts before a text do
        times = f"{seconds(before):.2f} s before, {seconds(after):.2f} s after"
        print(f"{make.__name__}, {package} {metadata.version(package)}: {times}", flush=True)


if __name__ == "__main__":
    main()
