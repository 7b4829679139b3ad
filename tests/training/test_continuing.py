"""What a vocabulary that is continued keeps."""
from bpetite import Tokenizer, Vocab


def test_it_keeps_ids_that_no_text_gives() -> None:
    tokens = {byte: bytes([byte]) for byte in range(256)} | {256: b"ab", 257: b"", 258: b"abc", 259: b"<a>"}
    vocab = Vocab(tokens, ((97, 98),), {"<a>": 259, "<b>": 259}, ignore_merges=True, unreachable=frozenset({258}))
    trained = Tokenizer.train(["abc abc abc"], 258, initial=Tokenizer.from_vocab(vocab), special_tokens=["<c>"])
    assert trained.merges == [(b"a", b"b"), (b"ab", b"c")]
    assert trained.to_vocab().unreachable == {257, 258}
    assert trained.encode("abc<a><b><c>") == [260, 259, 259, 261]
    assert trained.decode([258, 257, 259]) == "abc<a>"
