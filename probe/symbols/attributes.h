/*
 * Attributes: the .ARM.attributes section, of which two facts matter here: for which version of the
 * architecture the code is, and for which profile. An M-profile core runs Thumb only, whatever symbols are
 * missing. Format: "Addenda to, and Errata in, the ABI for the Arm Architecture", build attributes.
 */
#pragma once

#include "symbols/internal.h"

struct attributes {
    char profile;          /* Tag_CPU_arch_profile: 'A', 'R', 'M', 'S'; 0: not said */
    unsigned architecture; /* Tag_CPU_arch; 0: not said */
};

struct attributes attributes_read(struct debug_section section, bool big_endian);
