"""Files of sorted counts, read and added up as streams.

The shape, and why.

- A record is read where it lies in the buffer; nothing is made of it but its first eight bytes as one number, which
  decides nearly every comparison of a merge. The buffer keeps the record before the next one, so that order is checked.
- Many files are added up by a heap of their records. One record is written at a time, and held open in the output until
  a greater one comes: the counts of the others for the same pre-token are added in place.
"""
cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.memoryview cimport PyMemoryView_FromMemory
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcmp, memcpy, memmove

from zlib import crc32

from ...errors import FormatError
from ...headers.python cimport PyBytes_FromStringAndSize
from ._count_table cimport CountTable
from ..sums cimport bp_add_overflows

cdef extern from "Python.h":
    int PyBUF_READ
    int PyBUF_WRITE

cdef extern from "training/counting/count_records.h" nogil:
    enum:
        BP_RECORD_HEAD
        BP_TRAILER
    uint64_t bp_get_little(const uint8_t* p, int bytes) noexcept
    void bp_put_little(uint8_t* p, uint64_t x, int bytes) noexcept
    uint64_t bp_prefix(const uint8_t* p, size_t length) noexcept
    int bp_compare_bytes(const uint8_t* a, size_t n, const uint8_t* b, size_t m) noexcept

cdef enum:
    FULL = 4                   # the block has no room for the next record
    BELOW = -6                 # a sum is negative


cdef int next_record(record_stream* stream) noexcept nogil:
    """Go on to the next record."""
    cdef uint64_t at = stream.at + stream.size
    cdef uint64_t left = stream.end - at
    cdef uint64_t length
    cdef const uint8_t* data
    cdef const uint8_t* last = stream.data
    cdef uint64_t prefix
    cdef int64_t count
    if left < BP_RECORD_HEAD:
        return HUNGRY
    length = bp_get_little(stream.buffer + at, 4)
    if length == 0:
        if left < BP_TRAILER:
            return HUNGRY
        stream.at = at
        stream.size = 0
        return ENDED
    if left - BP_RECORD_HEAD < length:
        return HUNGRY
    count = <int64_t> bp_get_little(stream.buffer + at + 4, 8)
    data = stream.buffer + at + BP_RECORD_HEAD
    prefix = bp_prefix(data, length)
    if count == 0 or count < 0 and not stream.signed:
        return DISORDER
    if stream.different and (prefix < stream.prefix or prefix == stream.prefix
                             and bp_compare_bytes(data, length, last, stream.length) <= 0):
        return DISORDER
    stream.at = at
    stream.size = BP_RECORD_HEAD + length
    stream.prefix = prefix
    stream.data = data
    stream.length = length
    stream.count = count
    stream.different += 1
    return RECORD


cdef bint comes_before(const record_stream* one, const record_stream* other) noexcept nogil:
    if one.prefix != other.prefix:
        return one.prefix < other.prefix
    return bp_compare_bytes(one.data, one.length, other.data, other.length) < 0


@cython.final
cdef class RecordReader:
    """The records of a file, in order. A damaged file is a FormatError that names the file and the offset.

    Args:
        read: Called as ``read(offset, buffer)``: fills the buffer from the offset of the file, and returns the number
            of bytes, 0 at its end.
        name: Of the file, for messages.
        offset: The place of the first record.
        checksum: CRC-32 of the bytes before them.
        buffer_bytes: Bytes read at a time; more only where one record is longer.
        signed: Counts may be negative.
    """

    def __cinit__(self, read, name, uint64_t offset=0, unsigned int checksum=0, uint64_t buffer_bytes=1 << 20,
                  bint signed=False):
        self.read = read
        self.name = name
        self.offset = offset
        self.checksum = checksum
        self.stream.signed = signed
        self.stream.capacity = buffer_bytes if buffer_bytes > BP_TRAILER else BP_TRAILER
        self.stream.buffer = <uint8_t*> PyMem_Malloc(self.stream.capacity)
        if self.stream.buffer == NULL:
            raise MemoryError

    def __dealloc__(self):
        PyMem_Free(self.stream.buffer)

    cdef bint advance(self) except -1 nogil:
        cdef int status
        while not self.ended:
            status = next_record(&self.stream)
            if status == RECORD:
                self.data = self.stream.data
                self.length = self.stream.length
                self.count = self.stream.count
                return True
            with gil:
                if status == HUNGRY:
                    self.refill()
                elif status == ENDED:
                    self.finish()
                else:
                    self.refuse()
        return False

    cdef int refill(self) except -1:
        """Read more. The record before stays in the buffer, and so does the beginning of the next one."""
        cdef record_stream* stream = &self.stream
        cdef uint8_t* larger
        cdef uint64_t number
        if self.reading:
            raise RuntimeError("one thread at a time reads records")
        self.check_to(stream.at)
        memmove(stream.buffer, stream.buffer + stream.at, stream.end - stream.at)
        stream.end -= stream.at
        stream.at = self.checked = 0
        if stream.end * 2 > stream.capacity:
            # No more than twice the bytes read: a damaged length must not allocate memory.
            larger = <uint8_t*> PyMem_Realloc(stream.buffer, stream.capacity * 2)
            if larger == NULL:
                raise MemoryError
            stream.buffer = larger
            stream.capacity *= 2
        stream.data = stream.buffer + BP_RECORD_HEAD
        self.reading = True        # meanwhile other threads run, and the buffer must stay
        try:
            number = self.read(self.offset, PyMemoryView_FromMemory(
                <char*> stream.buffer + stream.end, stream.capacity - stream.end, PyBUF_WRITE))
        finally:
            self.reading = False
        if number == 0:
            raise FormatError(f"{self.name}: ends at byte {self.offset} in the middle of a record")
        stream.end += number
        self.offset += number
        return 0

    cdef check_to(self, uint64_t end):
        """Bring the checksum up to a place in the buffer."""
        self.checksum = crc32(PyMemoryView_FromMemory(
            <char*> self.stream.buffer + self.checked, end - self.checked, PyBUF_READ), self.checksum)
        self.checked = end

    cdef int finish(self) except -1:
        """The trailer has been reached."""
        cdef record_stream* stream = &self.stream
        cdef uint8_t* trailer = stream.buffer + stream.at
        cdef uint64_t told = bp_get_little(trailer + 4, 8)
        self.check_to(stream.at + BP_TRAILER - 4)
        if (told != stream.different or bp_get_little(trailer + 20, 4) != self.checksum
                or stream.end > stream.at + BP_TRAILER or self.read(self.offset, bytearray(1))):
            raise FormatError(f"{self.name}: damaged: {stream.different} records read, {told} and another checksum "
                              "expected")
        self.documents = bp_get_little(trailer + 12, 8)
        self.ended = True
        return 0

    cdef refuse(self):
        cdef uint64_t at = self.offset - self.stream.end + self.stream.at + self.stream.size
        raise FormatError(f"{self.name}: record {self.stream.different} at byte {at} is out of order or damaged")

    def __iter__(self):
        """(bytes, count)."""
        while self.advance():
            yield PyBytes_FromStringAndSize(<const char*> self.data, self.length), self.count

    @property
    def at(self):
        """The offset of the record in the file."""
        return self.offset - self.stream.end + self.stream.at

    def add_to(self, CountTable table not None):
        """Add all that is left to a table."""
        while self.advance():
            table.add_bytes(self.data, self.length, self.count)


@cython.final
cdef class RecordMerger:
    """Adds up the records of files as a stream.

    Args:
        readers: Each is before its first record.
        least: Pre-tokens that occur less often are left out.
        buffer_bytes: Bytes of a block.
        signed: A sum may be negative, and is kept.
    """
    cdef list readers
    cdef record_stream** streams
    cdef int* heap                 # numbers of streams; the one with the first pre-token on top
    cdef int size
    cdef bint passed               # the record on top has been added
    cdef bint begun
    cdef int64_t least
    cdef bint signed
    cdef uint8_t* block
    cdef uint64_t capacity
    cdef uint64_t written
    # The last record in the block, to which others may be added; the length is 0 where there is none.
    cdef uint64_t last
    cdef uint64_t last_prefix
    cdef uint64_t last_length
    cdef int64_t last_count
    # The sums of the records that were given.
    cdef uint64_t different
    cdef uint64_t bytes
    cdef uint64_t low
    cdef uint64_t high

    def __cinit__(self, list readers not None, int64_t least=1, uint64_t buffer_bytes=1 << 20, bint signed=False):
        self.readers = list(readers)
        self.signed = signed
        self.least = least
        self.capacity = buffer_bytes
        self.block = <uint8_t*> PyMem_Malloc(self.capacity)
        self.heap = <int*> PyMem_Malloc(len(readers) * sizeof(int) + 1)
        self.streams = <record_stream**> PyMem_Malloc(len(readers) * sizeof(record_stream*) + 1)
        if self.block == NULL or self.heap == NULL or self.streams == NULL:
            raise MemoryError

    def __dealloc__(self):
        PyMem_Free(self.block)
        PyMem_Free(self.heap)
        PyMem_Free(self.streams)

    def __iter__(self):
        """Blocks of records, bytes, once. `totals` is complete after the last block."""
        cdef RecordReader reader
        cdef int status
        cdef int number
        if self.begun:
            raise RuntimeError("records are merged once")
        self.begun = True
        for number in range(<int> len(self.readers)):
            reader = self.readers[number]
            self.streams[number] = &reader.stream
            if reader.advance():
                self.heap[self.size] = number
                self.size += 1
        for number in range(self.size // 2 - 1, -1, -1):
            self.sift_down(number)
        while True:
            with nogil:
                status = self.run()
            if status == FULL:
                yield PyBytes_FromStringAndSize(<const char*> self.block, self.written)
                self.written = 0
                self.make_room(BP_RECORD_HEAD + self.streams[self.heap[0]].length)
            elif status == ENDED and self.size == 0:
                break
            elif status == PAST:
                raise OverflowError(f"the count of {self.last_pretoken()!r} is past 2^63 - 1")
            elif status == BELOW:
                raise FormatError(f"the counts of {self.last_pretoken()!r} are negative together: {self.last_count}")
            else:
                # Reads more, ends the stream or says what is wrong.
                reader = self.readers[self.heap[0]]
                if not reader.advance():
                    self.size -= 1
                    self.heap[0] = self.heap[self.size]
                self.sift_down(0)
                self.passed = False
        if self.written:
            yield PyBytes_FromStringAndSize(<const char*> self.block, self.written)
            self.written = 0

    cdef int make_room(self, uint64_t size) except -1:
        cdef uint8_t* larger
        if size > self.capacity:
            larger = <uint8_t*> PyMem_Realloc(self.block, size)
            if larger == NULL:
                raise MemoryError
            self.block = larger
            self.capacity = size
        return 0

    cdef last_pretoken(self):
        return PyBytes_FromStringAndSize(<const char*> self.block + self.last + BP_RECORD_HEAD, self.last_length)

    cdef int run(self) noexcept nogil:
        """Merge until the block is FULL, or something has to be done about the stream on top, or all have ENDED."""
        cdef record_stream* top
        cdef int status
        while True:
            if self.passed:
                status = next_record(self.streams[self.heap[0]])
                if status != RECORD:
                    return status
                self.passed = False
                self.sift_down(0)
            if self.size == 0:
                return self.close()
            top = self.streams[self.heap[0]]
            if self.last_length == top.length and self.last_prefix == top.prefix and memcmp(
                    self.block + self.last + BP_RECORD_HEAD, top.data, top.length) == 0:
                if bp_add_overflows(&self.last_count, top.count):
                    return PAST
            else:
                status = self.close()
                if status != ENDED:
                    return status
                if self.capacity - self.written < BP_RECORD_HEAD + top.length:
                    return FULL
                self.last = self.written
                self.last_prefix = top.prefix
                self.last_length = top.length
                self.last_count = top.count
                memcpy(self.block + self.last + BP_RECORD_HEAD, top.data, top.length)
            self.passed = True

    cdef int close(self) noexcept nogil:
        """Write the last record, to which nothing more will be added."""
        cdef int64_t count = self.last_count
        cdef uint8_t* at = self.block + self.last
        if self.last_length == 0:
            return ENDED
        if count < 0 and not self.signed:
            return BELOW
        if count >= self.least or count < 0:
            bp_put_little(at, self.last_length, 4)
            bp_put_little(at + 4, <uint64_t> count, 8)
            self.written = self.last + BP_RECORD_HEAD + self.last_length
            self.different += 1
            self.bytes += self.last_length
            self.low += <uint64_t> count & 0xFFFFFFFFU
            self.high += <uint64_t> count >> 32
        self.last_length = 0
        return ENDED

    cdef void sift_down(self, int at) noexcept nogil:
        cdef int number
        cdef int child
        if self.size == 0:
            return
        number = self.heap[at]
        while True:
            child = 2 * at + 1
            if child >= self.size:
                break
            if child + 1 < self.size and comes_before(
                    self.streams[self.heap[child + 1]], self.streams[self.heap[child]]):
                child += 1
            if not comes_before(self.streams[self.heap[child]], self.streams[number]):
                break
            self.heap[at] = self.heap[child]
            at = child
        self.heap[at] = number

    def totals(self):
        """(different pre-tokens, their bytes, pre-tokens in all); the last is an int of any size."""
        return self.different, self.bytes, (int(self.high) << 32) + self.low
