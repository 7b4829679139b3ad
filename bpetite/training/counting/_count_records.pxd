"""Files of sorted counts, read and added up as streams (_count_records.pyx)."""
cimport cython
from libc.stdint cimport int64_t, uint8_t, uint64_t

from .._pretokens cimport PretokenReader


cdef enum record_status:
    RECORD = 1
    ENDED = 2               # the trailer is at `at`
    HUNGRY = 3              # what has been read ends in the middle of a record
    DISORDER = -4           # the record is out of order or has no such count
    PAST = -5               # a sum is past 2^63 - 1


cdef struct record_stream:
    uint8_t* buffer
    uint64_t capacity
    uint64_t at             # where the record begins
    uint64_t size           # bytes of the record; 0 before the first
    uint64_t end            # of what has been read
    uint64_t prefix         # of the pre-token, see bp_prefix
    const uint8_t* data
    uint64_t length
    int64_t count
    uint64_t different      # records passed, this one among them
    bint signed             # counts may be negative


cdef int next_record(record_stream* stream) noexcept nogil


@cython.final
cdef class RecordReader(PretokenReader):
    cdef record_stream stream
    cdef object read
    cdef readonly object name
    cdef readonly uint64_t documents
    cdef uint64_t offset           # in the file, of what is read next
    cdef uint64_t checked          # bytes of the buffer that are in the checksum
    cdef unsigned int checksum
    cdef bint ended
    cdef bint reading
    cdef int refill(self) except -1
    cdef int finish(self) except -1
    cdef check_to(self, uint64_t end)
    cdef refuse(self)
