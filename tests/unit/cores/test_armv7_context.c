/* Programs in user mode on an Armv7 core: context_arm.h. */
#include "rig_armv7.h"

#define WORDS_OF_CONTEXT "CONTEXTIDR, by which they differ, was 0x7"
#include "context_arm.h"
