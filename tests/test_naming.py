"""Names in any spelling, and the known name that is nearest to an unknown one."""
import pytest

from bpetite import naming


@pytest.mark.parametrize("spelling", ["cl100k_base", "CL100K-base", "cl100k base", "Cl100k.Base", "cl100kbase"])
def test_spellings_of_one_name(spelling: str) -> None:
    assert naming.folded(spelling) == "cl100kbase"


def test_the_nearest_name_as_it_is_written() -> None:
    known = ["gpt2", "cl100k_base", "o200k_base", "o200k_harmony"]
    assert naming.nearest("CL100-BASE", known) == "cl100k_base"
    assert naming.nearest("o200_harmony", known) == "o200k_harmony"
    assert naming.nearest("sentencepiece", known) is None
    assert naming.suggestion("sentencepiece", known) == "known are gpt2, cl100k_base, o200k_base, o200k_harmony"
