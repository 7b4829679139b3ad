"""Pre-tokens with their counts, one after the other: what counting gives and merging takes."""


cdef class PretokenReader:
    """Reads the pre-tokens of a table or a file."""

    cdef bint advance(self) except -1 nogil:
        with gil:
            raise NotImplementedError
