/*
 * The version, as --version prints it and as the header of every result file records it.
 */
#pragma once

#define PMU_PROBE_VERSION "0.1.0"
