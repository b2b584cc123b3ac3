# The best that GDB does: two hardware breakpoints, never deleted, a loop of `continue` and a read. Wants $start, $end,
# $counter and $hits, and a target that is connected.

set pagination off
set confirm off
set mem inaccessible-by-default off
delete breakpoints
# OpenOCD's server loop shall not be what it waits for; how often OpenOCD polls for a stop cannot be set
monitor poll_period 1
hbreak *$start
hbreak *$end
continue
# Now and then the first stop is not the start: then to the next one
while (unsigned)$pc != ((unsigned)$start & ~1)
    continue
end
python
import time
begun = time.monotonic()
end
set $i = 0
while $i < $hits
    set $from = *(unsigned int *)$counter
    continue
    set $to = *(unsigned int *)$counter
    printf "%u %u\n", $from, $to
    continue
    set $i = $i + 1
end
python print("seconds %f" % (time.monotonic() - begun))
