// The address space of ADIv6: see the header.
#include "debug_space.h"

#include "device/coresight.h"

enum { PAGE = 0x1000, REGISTERS = 0xD00, REGISTERS_END = 0xE00, IDR = 0xFC, PRESENT = 3 };

uint32_t debug_space_rom(const struct adi *adi)
{
    return adi->quirks & ADI_LARGE ? 0x00F00000 : 0;
}

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
    if (at - debug_space_rom(adi) < PAGE)
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
                                  wide = {.part = 0x4E0,
                                          .class = COMPONENT_CORESIGHT,
                                          .devarch = 0x47700AF7,
                                          .devid = 1},
                                  port = {.part = 0x9E3, .class = COMPONENT_CORESIGHT, .devarch = 0x47700A17},
                                  adapter = {
                                      .part = 0x9E5, .class = COMPONENT_CORESIGHT, .devarch = 0x47700A47};
    bool large = adi->quirks & ADI_LARGE;
    if (ap && ap->no_memory)
        return offset == REGISTERS + IDR ? ap->idr : 0;
    size_t entry = offset / (large ? 8 : 4);
    if (!ap && entry < adi->ap_count) {
        int64_t apart = (int64_t)adi->aps[entry].at - debug_space_rom(adi);
        return offset & 4 && large ? (uint32_t)(apart >> 32) : (uint32_t)apart | PRESENT;
    }
    return component_read(ap ? large ? &adapter : &port : large ? &wide : &rom, offset);
}
