"""The vector instructions of the compiled loops (headers/simd.h)."""
from .errors import short_repr

import os

cdef extern from "headers/simd.h" nogil:
    enum:
        BP_SIMD_FORMS
    const char* bp_simd_name(int form)
    bint bp_simd_has(int form)
    int bp_simd()


def simd():
    """The vector instructions that bpetite uses in this process, by name.

    One of ``"avx512"``, ``"avx2"``, ``"neon"`` and ``"plain"``: the best set that the processor and the
    build have. ``avx512`` needs VBMI, VBMI2 and GFNI (Intel since Ice Lake, AMD since Zen 4); every 64-bit ARM
    processor has ``neon``; ``plain`` does without. All give the same results. The environment variable
    ``BPETITE_SIMD`` names one, for comparisons or the search for a fault; set it before importing bpetite.

    Raises:
        ValueError: ``BPETITE_SIMD`` names an unknown set, or one that this machine or build does not have. Importing
            bpetite raises it, too.

    >>> import bpetite
    >>> bpetite.simd() in ("avx512", "avx2", "neon", "plain")
    True
    """
    check_environment()
    return bp_simd_name(bp_simd()).decode("ascii")


def forms():
    """The possible values of `simd` on this machine, the best last."""
    return _names(of_this_machine=True)


def _names(of_this_machine):
    cdef int form
    names = []
    for form in range(BP_SIMD_FORMS):
        if not of_this_machine or bp_simd_has(form):
            names.append(bp_simd_name(form).decode("ascii"))
    return names


def check_environment():
    """Raise the ValueError of `simd` if ``BPETITE_SIMD`` names a set that this machine or build does not have."""
    asked = os.environ.get("BPETITE_SIMD", "")
    if asked in ("", *forms()):
        return
    known = asked in _names(of_this_machine=False)
    reason = "which this machine does not have" if known else "which is no set of vector instructions"
    raise ValueError(f"the environment has BPETITE_SIMD={short_repr(asked)}, {reason}: here it can be "
                     f"{', '.join(forms())}, or not set")
