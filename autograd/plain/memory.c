/* memory.c: the memory of buffers is the system's: no memory is kept. */
#include "buffer_memory.h"
#include "buffers.h"
#include "system.h"

Buffer *memory_take(size_t bytes, bool lasting)
{
    (void)lasting;
    Buffer *b = system_alloc(BUFFER_HEADER + bytes);
    if (b) {
        *b = (Buffer){ .size = bytes };
    }
    return b;
}

void memory_give(Buffer *b)
{
    system_free(b);
}

void memory_trim(void)
{
}

size_t memory_kept_bytes(void)
{
    return 0;
}
