/*
 * Attributes: the .ARM.attributes section, of which one fact matters here: an M-profile core runs
 * Thumb only, whatever symbols are missing. Format: "Addenda to, and Errata in, the ABI for the Arm
 * Architecture", build attributes.
 */
#pragma once

#include "symbols/internal.h"

bool attributes_m_profile(struct debug_section section, bool big_endian);
