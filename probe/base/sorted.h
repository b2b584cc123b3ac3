/*
 * Rows in an order, those that compare equal as one.
 */
#pragma once

#include <stdlib.h>
#include <string.h>

/* `join` adds a row to the first of its like; NULL: the first is kept. Returns how many are left. */
static inline size_t sorted_join(void *rows, size_t n, size_t size,
                                 int (*compare)(const void *, const void *),
                                 void (*join)(void *first, const void *row))
{
    char *all = rows;
    size_t used = 0;
    if (n > 1)
        qsort(rows, n, size, compare);
    for (size_t i = 0; i < n; i++) {
        char *last = used > 0 ? all + (used - 1) * size : NULL, *row = all + i * size;
        if (last == NULL || compare(last, row) != 0)
            memmove(all + used++ * size, row, size);
        else if (join != NULL)
            join(last, row);
    }
    return used;
}
