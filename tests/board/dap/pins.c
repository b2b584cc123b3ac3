// Pins: see the header.
#include "dap/pins.h"

bool pins_clock(struct pins *p, bool driven, bool io, bool tdi)
{
    p->clocks++;
    if (p->has_jtag && !p->trst_low && swd_is_jtag(&p->swd))
        jtag_clock(&p->jtag, driven ? io : true, tdi);
    // The switch between the two listens always
    return swd_clock(&p->swd, driven, io);
}

bool pins_tdo(const struct pins *p)
{
    bool theirs = p->has_jtag && !p->trst_low && swd_is_jtag(&p->swd) && !p->jtag.adi->off;
    return theirs ? jtag_tdo(&p->jtag) : !p->swd.held_low;
}
