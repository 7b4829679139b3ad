def simd() -> str:
    """The vector instructions that bpetite uses in this process, by name.

    One of ``"avx512"``, ``"avx2"``, ``"neon"`` and ``"plain"``: the best set that the processor and the
    build have. ``avx512`` needs VBMI, VBMI2 and GFNI (Intel since Ice Lake, AMD since Zen 4); every 64-bit ARM
    processor has ``neon``; ``plain`` does without. All give the same results. The environment variable
    ``BPETITE_SIMD`` asks for one by name, to compare them or to look for a fault; set it before importing bpetite.

    Raises:
        ValueError: ``BPETITE_SIMD`` names what this machine or this build does not have, or no such set. Importing
            bpetite raises it too.

    >>> import bpetite
    >>> bpetite.simd() in ("avx512", "avx2", "neon", "plain")
    True
    """

def forms() -> list[str]:
    """What `simd` can be on this machine, the best last."""

def check_environment() -> None:
    """Raise the ValueError of `simd` where ``BPETITE_SIMD`` names what cannot be had."""
