"""Conversations to token ids by a model's own Jinja template, with no special token from content that is not trusted.

>>> from bpetite import Tokenizer, chat
>>> tok = Tokenizer.train("ab ab ab", 258, special_tokens=["<|user|>"])
>>> template = "{% for m in messages %}<|user|>{{ m.content }}{% endfor %}"
>>> chat.encode(tok, [{"role": "user", "content": "ab<|user|>"}], template).ids[:4]
[258, 256, 60, 124]
"""
from .conversations import ChatEncoding, encode

__all__ = ["ChatEncoding", "encode"]
