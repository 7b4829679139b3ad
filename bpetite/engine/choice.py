"""The parts of a tokenizer's engine, chosen for its vocabulary."""
from __future__ import annotations

from typing import TYPE_CHECKING

from ..patterns import is_plain
from ..splitting.pretokenizer import Pretokenizer, pretokenizer
from ..vocabulary.vocab import Vocab

if TYPE_CHECKING:  # few vocabularies need one
    from ..steps._rewriting import Rewriter
    from .pipeline import Pipeline


def engine_parts(vocab: Vocab) -> tuple[Pretokenizer, Rewriter | None, Pipeline | None]:
    """The pre-tokenizer, the rewriter, and the pipeline that takes their place for a vocabulary that asks for more
    than the compiled core does."""
    pattern = vocab.pattern
    if vocab.alphabet is not None:
        from ..steps.simplified import without_splits_at_spaces

        pattern = without_splits_at_spaces(pattern, vocab.normalization)
    if not is_plain(pattern):
        from ..steps.simplified import simplified

        pattern = simplified(pattern)
    if vocab.is_rare or vocab.alphabet is not None or not is_plain(pattern):
        from .pipeline import Pipeline

        pipeline = Pipeline(vocab, pattern)
        return pipeline.pretokenizer, pipeline.rewriter, pipeline
    rewriter = None
    if vocab.normalization is not None:
        from ..steps.normalizers import normal_form

        rewriter = normal_form(str(vocab.normalization))
    return pretokenizer(pattern), rewriter, None
