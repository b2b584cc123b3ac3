// The address space of ADIv6: see the header.
#include "debug_space.h"

#include "device/coresight.h"

enum { PAGE = 0x1000, REGISTERS = 0xD00, REGISTERS_END = 0xE00, IDR = 0xFC, PRESENT = 3 };

static struct mem_ap *port_at(struct adi *adi, uint32_t page)
{
    for (size_t i = 0; i < adi->ap_count; i++)
        if (adi->aps[i].at == page)
            return &adi->aps[i];
    return NULL;
}

enum space_place debug_space_find(struct adi *adi, unsigned address, struct mem_ap **ap, unsigned *reg)
{
    uint32_t at = (adi->select & ~0xFu) | address, offset = at % PAGE;
    if (adi->select1)
        return SPACE_NOWHERE;
    *reg = offset;
    if (at - DEBUG_SPACE_ROM < PAGE)
        return SPACE_SAYS;
    *ap = port_at(adi, at - offset);
    if (!*ap)
        return SPACE_NOWHERE;
    if ((*ap)->no_memory || (offset >= AP_DAR_SIZE && offset < REGISTERS) || offset >= REGISTERS_END)
        return SPACE_SAYS;
    *reg = offset < AP_DAR_SIZE ? AP_DAR + offset : offset - REGISTERS;
    return SPACE_PORT;
}

uint32_t debug_space_says(const struct adi *adi, const struct mem_ap *ap, unsigned offset)
{
    static const struct component rom = {.part = 0x4E0, .class = COMPONENT_CORESIGHT, .devarch = 0x47700AF7},
                                  port = {.part = 0x9E3, .class = COMPONENT_CORESIGHT, .devarch = 0x47700A17};
    if (ap && ap->no_memory)
        return offset == REGISTERS + IDR ? ap->idr : 0;
    if (!ap && offset / 4 < adi->ap_count)
        return adi->aps[offset / 4].at | PRESENT;
    return component_read(ap ? &port : &rom, offset);
}
