"""Pre-tokens and their counts out of records, as files and pickles have them (count_records.h)."""
cimport cython
from libc.stdint cimport int64_t, uint8_t, uint64_t

from ...errors import FormatError
from ...headers.python cimport PyBytes_AS_STRING
from ._count_table cimport PretokenReader

cdef extern from "training/counting/count_records.h" nogil:
    enum:
        BP_RECORD_HEAD
    uint64_t bp_get_little(const uint8_t* p, int bytes) noexcept


@cython.final
cdef class RecordReader(PretokenReader):
    """Reads records.

    Args:
        blocks: An iterator of bytes; a record may begin in one and end in a later one.
        name: Of the file, for messages.

    Raises:
        FormatError: A record that does not end, an empty pre-token, a count that cannot be.
    """
    cdef object blocks
    cdef object name
    cdef bytes block
    cdef const uint8_t* next
    cdef uint64_t left             # bytes of the block from `next` on

    def __cinit__(self, blocks, name):
        self.blocks = blocks
        self.name = name
        self.block = b""

    cdef bint advance(self) except -1 nogil:
        cdef uint64_t size
        while True:
            size = BP_RECORD_HEAD
            if self.left >= size:
                size += bp_get_little(self.next, 4)
                if self.left >= size:
                    break
            with gil:
                if not self.read(size):
                    return False
        self.data = self.next + BP_RECORD_HEAD
        self.length = size - BP_RECORD_HEAD
        self.count = <int64_t> bp_get_little(self.next + 4, 8)
        self.next += size
        self.left -= size
        if self.length == 0 or self.count <= 0:
            with gil:
                raise FormatError(f"{self.name}: damaged: {self.count} of a pre-token of {self.length} bytes")
        return True

    cdef bint read(self, uint64_t size) except -1:
        """Read until `size` bytes are left, if there are as many; False at the end."""
        cdef list parts = [self.block[len(self.block) - self.left:]]
        cdef uint64_t left = self.left
        while left < size:
            part = next(self.blocks, None)
            if part is None:
                break
            parts.append(part)
            left += len(part)
        if left < size and left:
            raise FormatError(f"{self.name}: damaged: it ends after {left} bytes of a record of {size}")
        self.block = b"".join(parts)
        self.next = <const uint8_t*> PyBytes_AS_STRING(self.block)
        self.left = left
        return left != 0
