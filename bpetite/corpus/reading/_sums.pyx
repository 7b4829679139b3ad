"""The CRC-32 of bytes from those of their parts: polynomials over two elements, modulo the one of CRC-32, where the
highest bit of a number belongs to x^0.
"""
from libc.stdint cimport uint32_t, uint64_t


def crc_behind(uint32_t crc, uint64_t size):
    """A CRC-32 times x to the power of the bits of ``size`` bytes, which follow."""
    cdef uint32_t power = 1 << 23                      # x^8
    while size:
        if size & 1:
            crc = times(crc, power)
        power = times(power, power)
        size >>= 1
    return crc


cdef uint32_t times(uint32_t first, uint32_t second) noexcept:
    cdef uint32_t product = 0
    while first:
        if first >> 31:
            product ^= second
        first <<= 1
        second = second >> 1 ^ (<uint32_t> 0xEDB88320 if second & 1 else 0)
    return product
